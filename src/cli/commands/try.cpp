#include "base/output_target.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/shared_options.hpp"
#include "device/devices.hpp"
#include "report/host.hpp"
#include "text/page.hpp"
#include "text/progress.hpp"
#include "trying/tries_file.hpp"
#include "trying/try_file.hpp"
#include "trying/try_sheet.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kNap{200};  // between two looks at a file that is watched

constexpr char kExamples[] = R"(Examples:
  nf4bench try docs/examples/try/decode.cpp                  three shapes, on the CPU
  nf4bench try docs/examples/try/decode.cpp --shape 4096x14336 --json -
  nf4bench try docs/examples/try/decode.cpp --keep out       with the compiler's log and assembly
With --watch it is tried again at each save, until Ctrl-C.
Exit codes: 0 right and timed, 2 usage, 3 compile_error or refused, 4 wrong, stateful, crash or timeout, 5 no usable device, 6 unsupported or implausible, 130 or 143 interrupted.)";

// What is quick enough to be done at each save.
record::RunOptions quick_options() {
  record::RunOptions options;
  options.max_time_s = 0.5;
  options.precision = 0.01;
  options.call_timeout_s = 20.0;
  return options;
}

struct Arguments {
  std::string file;
  record::RunOptions options = quick_options();
  std::string json;
  std::string keep;
  std::string trace;
  bool watch = false;
  bool sanitize = false;
  bool why = false;
  bool quiet = false;
};

ExitCode code_of(trying::Status status) {
  switch (status) {
    case trying::Status::kOk:
      return ExitCode::kOk;
    case trying::Status::kCompileError:
    case trying::Status::kRefused:
      return ExitCode::kBadInput;
    case trying::Status::kUnsupported:
    case trying::Status::kImplausible:
      return ExitCode::kInconclusive;
    default:
      return ExitCode::kVerificationFailed;
  }
}

void show(const trying::Attempt& attempt, const Arguments& arguments) {
  const bool is_on_stdout = !arguments.json.empty();
  if (is_on_stdout) write_stdout(trying::to_json(attempt) + "\n");
  if (arguments.quiet) return;
  text::show_beside(is_on_stdout,
                    [&](const text::Style& style) { return trying::to_text(attempt, style); });
}

// Shows progress and what the kernel itself writes. What the run says of it the try says, too.
class RunLines {
 public:
  explicit RunLines(bool is_quiet)
      : board_({"try"}, is_quiet || !terminal_of(STDERR_FILENO).is_tty
                            ? text::ProgressMode::kSilent
                            : text::ProgressMode::kAuto) {}

  void take(std::string_view bytes) {
    unfinished_ += bytes;
    std::size_t end = 0;
    while ((end = unfinished_.find('\n')) != std::string::npos) {
      if (!unfinished_.starts_with("nf4bench: ")) board_.take(0, unfinished_.substr(0, end + 1));
      unfinished_.erase(0, end + 1);
    }
  }
  void clear() { board_.clear(); }

 private:
  text::ProgressBoard board_;
  std::string unfinished_;
};

ExitCode try_once(const Arguments& arguments, const std::atomic<bool>& interrupted) {
  const fs::path tries = trying::tries_file_of(arguments.file);
  const std::vector<trying::Attempt> before =
      trying::read_tries(tries, fs::path(arguments.file).filename().string()).attempts;
  RunLines lines(arguments.quiet);
  const auto attempt = trying::try_file({
      .file = arguments.file,
      .options = arguments.options,
      .keep = arguments.keep,
      .sanitize = arguments.sanitize,
      .why = arguments.why,
      .before = before,
      .interrupted = interrupted,
      .on_progress = [&lines](std::string_view bytes) { lines.take(bytes); },
  });
  lines.clear();
  if (!attempt) return interruption().value_or(ExitCode::kInterrupted);
  show(*attempt, arguments);
  trying::append(tries, trying::to_json(*attempt) + '\n');
  if (!arguments.trace.empty()) trying::append(arguments.trace, trying::trace_of(*attempt));
  return code_of(attempt->status);
}

// Returns when the file is another one, or when it is time to end.
void wait_for_save(const std::string& file, const std::string& known,
                   const std::atomic<bool>& interrupted) {
  while (!interrupted.load()) {
    std::this_thread::sleep_for(kNap);
    const std::string now = report::peer_file("", file).sha256;
    if (!now.empty() && now != known) return;  // a file that is being replaced is not there
  }
}

ExitCode run(Arguments arguments) {
  if (device::names_several(arguments.options.device)) {
    throw Error(ErrorKind::kUsage,
                "--device: a kernel is tried on one device; name it, as in cuda:0");
  }
  device::check_device_name(arguments.options.device);
  const bool is_for_cpu = arguments.options.device == "cpu" || arguments.file.ends_with(".cpp");
  if (arguments.why && is_for_cpu) {
    throw Error(ErrorKind::kUsage, "--why: counters are read on GPUs; of the CPU perf has them");
  }
  if (arguments.sanitize && is_for_cpu) {
    throw Error(ErrorKind::kUsage,
                "--sanitize: compute-sanitizer looks at kernels of GPUs; of a .cpp file build a "
                "program with -fsanitize=address,undefined");
  }
  if (arguments.options.shapes.empty()) {
    arguments.options.shapes = {"1024x1024", "4096x4096", "8192x8192"};
  }
  trying::check_trace(arguments.trace, arguments.file);
  if (!arguments.keep.empty()) {
    trying::check_keep(arguments.keep, arguments.file);
    make_folder("--keep", arguments.keep);
  }
  const std::atomic<bool>& interrupted = watch_for_interruption();
  if (!arguments.watch) return try_once(arguments, interrupted);
  while (true) {
    const std::string tried = report::peer_file("", arguments.file).sha256;
    const ExitCode code = try_once(arguments, interrupted);
    wait_for_save(arguments.file, tried, interrupted);
    if (interrupted.load()) return interruption().value_or(code);
  }
}

void add_problem_options(Command& command, record::RunOptions& o) {
  command.group = "What it is tried on";
  command.add("--shape OUTxIN", o.shapes,
              "A weight of this shape (repeatable) [1024x1024, 4096x4096 and 8192x8192]");
  command
      .add("--operation NAME", o.operations,
           "What it computes: dequantize, matmul or backward [dequantize]", kList)
      .one_of(operation_words());
  command.add(
      "--tokens M", [&o](const Words& words) { o.tokens = parse_tokens(words); },
      "Rows of x that matmul multiplies with [1,8,64]", kMayBeNumber);
  command
      .add(
          "--dtype TYPE", [&o](const Words& words) { o.output_types = parse_output_types(words); },
          "Output types: float16, bfloat16, float32 [bfloat16, or the first that its kernels name]")
      .suggests(output_type_words());
  add_scale_options(command, o.blocksize, o.absmax_kind);
  command
      .add("--device NAME", o.device,
           "cuda, cuda:N or cpu [of a .cpp file cpu, of a .cu file cuda, else the first GPU or the "
           "CPU]")
      .suggests(device_words());
  command.add("--threads N", o.threads, "Threads of the CPU device [all]").between(0, 4096);
}

}  // namespace

Command try_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("try", "Compile, verify and time a kernel that was just written", kExamples);
  command.add("file", a->file,
              "Its source (.cpp, .cu), a shared library or a Python file, as --peer takes them",
              kRequired | kFiles);
  add_problem_options(command, a->options);
  command.group = "How long";
  command
      .add("--max-time SECONDS", a->options.max_time_s,
           "Time for a variant on a problem at most [=]")
      .between(0, kMostSeconds);
  command
      .add("--call-timeout SECONDS", a->options.call_timeout_s,
           "A call that takes longer is a timeout [=]")
      .between(0, kMostSeconds);
  command.add("--watch", a->watch, "Try it again whenever it is saved");
  command.add("--sanitize", a->sanitize,
              "Also run it under the four tools of compute-sanitizer, and name what they find");
  command.add("--why", a->why,
              "Also call it once under ncu of Nsight Compute, and say what limits it on a GPU");
  command.group = "Output";
  command
      .add(
          "--json -",
          [a](const std::string& word) {
            if (!word.empty() && word != "-") {
              throw Error(ErrorKind::kUsage,
                          "--json: a try goes to stdout: --json - > \"{}\"; tries.jsonl beside the "
                          "kernel keeps all of them",
                          escaped(word));
            }
            a->json = word;
          },
          "Write the try to stdout, as one line; the table moves to stderr")
      .suggests({"-"});
  command.add("--keep FOLDER", a->keep,
              "Keep the source, the compiler's log and the assembly there", kFiles);
  command.add("--trace FILE", a->trace,
              "Add its cells to FILE, as SOL-ExecBench and FlashInfer-Bench read them (JSON Lines)",
              kFiles);
  command.add("-q,--quiet", a->quiet, "No table and no progress");
  command.run = [a](const Context&) { return run(*a); };
  return command;
}

}  // namespace nf4bench::cli
