#include "trying/try_file.hpp"

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/sha256.hpp"
#include "base/signals.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "bench/child_run.hpp"
#include "bench/counting.hpp"
#include "device/devices.hpp"
#include "operation/operation.hpp"
#include "peer/source_file.hpp"
#include "plan/words.hpp"
#include "report/host.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <future>
#include <unistd.h>

namespace nf4bench::trying {
namespace {

namespace fs = std::filesystem;

constexpr double kGraceS = 60.0;  // a run that is silent for so much longer than a call may take
constexpr std::size_t kIdDigits = 12;

// A .cpp file is for the CPU, a .cu file for a GPU.
std::string device_for(const std::string& file, const std::string& asked) {
  if (asked != "auto") return asked;
  if (file.ends_with(".cpp")) return "cpu";
  return file.ends_with(".cu") ? "cuda" : asked;
}

// Of the GPU that the device names; 0 where it is none, or not there.
int compute_capability_of(const std::string& device) {
  int index = 0;
  if (device.starts_with("cuda:")) {
    std::from_chars(device.data() + 5, device.data() + device.size(), index);
  }
  std::string problem;
  if (device == "cpu" || device::cuda_device_count(&problem) <= index) return 0;
  return device::cuda_device_info(index).compute_capability;
}

// Before anything is compiled for it.
void require_gpu(const std::string& file) {
  std::string problem;
  if (device::cuda_device_count(&problem) > 0) return;
  throw Error(ErrorKind::kDevice, "{} needs a GPU: {}", escaped(file), problem);
}

bool is_on_gpu(const std::string& device) {
  std::string problem;
  return device != "cpu" && device::cuda_device_count(&problem) > 0;
}

// The last try of another program than `library` that was ok, and is still among what was compiled:
// a file cannot name other code to be run.
const Attempt* last_of(const Request& request, const std::string& library) {
  if (!peer::is_source_file(request.file)) return nullptr;
  const fs::path folder = fs::path(library).parent_path();
  const auto found =
      std::find_if(request.before.rbegin(), request.before.rend(), [&](const Attempt& attempt) {
        const fs::path there = attempt.program;
        return attempt.status == Status::kOk && there != library && there.parent_path() == folder &&
               fs::is_regular_file(there);
      });
  return found == request.before.rend() ? nullptr : &*found;
}

// Where nobody has said which: the usual one, or the first that the kernels are for.
std::vector<nf4::OutputType> types_for(const std::string& program) {
  const std::vector<nf4::OutputType> types = peer::kernel_types(program);
  const bool has_usual = std::ranges::find(types, nf4::OutputType::kBfloat16) != types.end();
  if (types.empty() || has_usual) return {};
  return {types.front()};
}

record::RunOptions options_of(const Request& request, const Attempt& attempt, const Attempt* last) {
  record::RunOptions options = request.options;
  const auto kind =
      is_on_gpu(options.device) ? record::DeviceKind::kCuda : record::DeviceKind::kCpu;
  for (const operation::Operation& each : operation::operations_of(options.operations)) {
    options.variants.emplace_back(each.catalog(kind).flagship);
  }
  options.variants.push_back(fmt::format("{}*", kMine));
  options.peers = {fmt::format("{}={}", kMine, attempt.program)};
  if (options.output_types.empty()) options.output_types = types_for(attempt.program);
  if (last != nullptr) {
    options.peers.push_back(fmt::format("{}={}", kLast, last->program));
    options.variants.push_back(fmt::format("{}*", kLast));
  }
  // The run is a process already, and kernels without host code do nothing in it.
  options.in_process = peer::is_kernel_program(attempt.program);
  options.peers_are_optional = true;
  options.measure_stream_shapes = false;
  if (request.why) options.why = {fmt::format("{}*", kMine)};
  options.quiet = true;
  options.force = true;
  options.command = {"nf4bench", "try", request.file};
  return options;
}

std::optional<record::Report> report_at(const fs::path& path) {
  try {
    return report::read_report(path.string()).report;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Whether it compiles; what was measured is in `attempt.program` then.
bool compile(const Request& request, Attempt& attempt) {
  attempt.program = fs::absolute(request.file).lexically_normal().string();
  if (!peer::is_source_file(request.file)) return true;
  const int capability =
      request.file.ends_with(".cu") ? compute_capability_of(request.options.device) : 0;
  const auto begun = std::chrono::steady_clock::now();
  bool compiles = true;
  try {
    if (!request.keep.empty()) peer::keep_compilation(request.file, capability, request.keep);
    attempt.program = peer::compiled_library(request.file, capability);
  } catch (const peer::CompileError& error) {
    compiles = false;
    attempt.program.clear();
    attempt.status = Status::kCompileError;
    attempt.reason = error.what();
    attempt.errors = error.found();
  }
  attempt.compile_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return compiles;
}

double longest_silence_of(const record::RunOptions& options) {
  return options.call_timeout_s + kGraceS + (options.why.empty() ? 0.0 : bench::kLongestCountingS);
}

void measure(const Request& request, Attempt& attempt) {
  const Attempt* const last = last_of(request, attempt.program);
  if (last != nullptr) attempt.last = last->id;
  const TemporaryFolder folder("try");
  const fs::path json = folder.path() / "report.json";
  record::RunOptions options = options_of(request, attempt, last);
  options.json = json.string();
  // Beside the run, whose first second goes into other things than timing.
  auto sass = std::async(std::launch::async, peer::disassembled, attempt.program);
  std::string err;
  ChildOutcome outcome = run_children({bench::run_command_for(options, {bench::kTellProgress})},
                                      {.interrupted = request.interrupted,
                                       .stop_signal = signal_for_children,
                                       .on_err =
                                           [&](std::size_t, std::string_view bytes) {
                                             err += bytes;
                                             if (request.on_progress) request.on_progress(bytes);
                                           },
                                       .silence_s = longest_silence_of(options)})
                             .front();
  if (request.interrupted.load()) return;
  outcome.err = std::move(err);
  judge(attempt, report_at(json), outcome, sass.get());
}

// The kernel alone, once or a few times, on the smallest of its problems: what is looked at takes
// many times as long.
record::RunOptions options_for_looking(const Request& request, const Attempt& attempt) {
  record::RunOptions options = request.options;
  const auto elements = [](const std::string& shape) {
    double product = 1.0;
    for (const std::int64_t size : plan::parse_shape(shape)) product *= static_cast<double>(size);
    return product;
  };
  options.shapes = {*std::ranges::min_element(options.shapes, {}, elements)};
  options.tokens.resize(1);
  options.variants = {fmt::format("{}*", kMine)};
  options.peers = {fmt::format("{}={}", kMine, attempt.program)};
  options.in_process = true;
  options.peers_are_optional = true;
  options.measure_stream_shapes = false;
  options.baseline = "none";
  options.caches = {record::CacheMode::kHot};
  options.launches = {record::LaunchMode::kStream};
  options.min_samples = 1;
  options.max_time_s = 0.0;
  options.min_sample_s = 0.0;
  options.call_timeout_s = 0.0;
  options.quiet = true;
  options.force = true;
  return options;
}

std::string new_id(const Attempt& attempt) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return sha256_of(fmt::format("{} {} {} {}", attempt.sha256, attempt.at, now, getpid()))
      .substr(0, kIdDigits);
}

}  // namespace

std::optional<Attempt> try_file(const Request& request) {
  open_input(request.file);  // what is no file is refused before anything else
  Request whole = request;
  Attempt attempt;
  attempt.at = report::utc_now();
  if (peer::is_solution_file(request.file)) {
    peer::Solution solution = peer::unpacked_solution(request.file);
    whole.file = std::move(solution.file);
    attempt.solves = {std::move(solution.name), std::move(solution.definition)};
  }
  whole.options.device = device_for(whole.file, request.options.device);
  if (whole.options.device.starts_with("cuda")) require_gpu(request.file);
  attempt.file = fs::path(request.file).filename().string();
  attempt.version = report::tool_info().version;
  const record::PeerFile file = report::peer_file(kMine, request.file);
  attempt.sha256 = file.sha256;
  if (compile(whole, attempt)) {
    measure(whole, attempt);
    if (request.sanitize && !request.interrupted.load()) {
      attempt.sanitizer = sanitize(options_for_looking(whole, attempt),
                                   peer::kernel_symbols(attempt.program), request.interrupted);
    }
  }
  if (request.interrupted.load()) return std::nullopt;
  attempt.id = new_id(attempt);
  return attempt;
}

void check_keep(const std::string& folder, const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path kept = fs::path(folder) / fs::path(file).filename();
  if (fs::equivalent(kept, file, ignored)) {
    throw Error(ErrorKind::kUsage, "--keep: \"{}\" has the kernel itself; name another folder",
                escaped(folder));
  }
  if (fs::exists(fs::path(folder) / "compiler.log", ignored)) return;
  for (const char* const ending : {"", ".s", ".ptx", ".cubin", ".sass"}) {
    const fs::path file_there = *ending == '\0' ? kept : fs::path(kept).replace_extension(ending);
    if (!fs::exists(file_there, ignored)) continue;
    throw Error(ErrorKind::kUsage,
                "--keep: {} is there, and no --keep wrote it; name another folder",
                escaped(file_there.string()));
  }
}

}  // namespace nf4bench::trying
