#include "bench/counting.hpp"

#include "base/input_file.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "bench/child_run.hpp"
#include "device/counter_access.hpp"
#include "record/counters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace nf4bench::bench {
namespace {

namespace fs = std::filesystem;
using record::Measurement;

constexpr int kNotStarted = 127;

bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

bool is_asked_for(const Measurement& row, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return matches_wildcard(pattern, row.variant); });
}

const record::ReportTensor* tensor_of(const record::Report& report, const Measurement& row) {
  const auto found = std::ranges::find(report.tensors, row.cell.tensor, &record::ReportTensor::id);
  return found == report.tensors.end() ? nullptr : &*found;
}

// Whether two cells differ in what they find in caches, in launches and in tokens at most.
bool are_alike(const record::Report& report, const Measurement& a, const Measurement& b) {
  if (a.cell.operation != b.cell.operation || a.cell.output_type != b.cell.output_type) {
    return false;
  }
  const record::ReportTensor* const tensor = tensor_of(report, a);
  const record::ReportTensor* const other = tensor_of(report, b);
  return tensor != nullptr && other != nullptr && tensor->geometry == other->geometry;
}

std::vector<Measurement*> chosen_rows(record::Report& report,
                                      const std::vector<std::string>& patterns) {
  std::vector<Measurement*> chosen;
  for (Measurement& row : report.measurements) {
    const auto first = std::ranges::find_if(
        report.measurements, [&](const Measurement& each) { return are_alike(report, each, row); });
    if (first == report.measurements.end() || first->cell != row.cell) continue;
    if (row.status != record::Status::kPassed || !row.time_s) continue;
    if (is_asked_for(row, patterns)) chosen.push_back(&row);
  }
  return chosen;
}

// Its number in the plan of the operation, from 1; 0: nobody knows.
int number_of(const record::Cell& cell, const std::vector<CountedOperation>& operations) {
  const auto operation = std::ranges::find(operations, cell.operation, &CountedOperation::name);
  if (operation == operations.end()) return 0;
  const auto& ids = operation->tensors;
  const auto place = std::ranges::find(ids, cell.tensor);
  return place == ids.end() ? 0 : static_cast<int>(place - ids.begin()) + 1;
}

// Other peers than that of `variant` may do harm, and are not needed.
std::vector<std::string> peers_for(const std::string& variant,
                                   const std::vector<std::string>& peers) {
  std::vector<std::string> kept;
  for (const std::string& peer : peers) {
    const std::string name = peer.substr(0, peer.find('='));
    if (variant == name || variant.starts_with(name + ".")) kept.push_back(peer);
  }
  return kept;
}

record::RunOptions options_for(const Measurement& row, const Counting& counting) {
  record::RunOptions options = counting.options;
  options.single_call = number_of(row.cell, counting.operations);
  options.operations = {row.cell.operation};
  options.variants = {row.variant};
  options.peers = peers_for(row.variant, options.peers);
  options.in_process = true;
  options.baseline = "none";
  options.output_types = {row.cell.output_type};
  if (row.cell.tokens > 0) options.tokens = {row.cell.tokens};
  options.measure_stream_shapes = false;
  options.check_company = false;
  options.measure_energy = false;
  options.crossover = false;
  options.why.clear();
  options.json.clear();
  options.quiet = true;
  return options;
}

std::vector<std::string> words_for(const std::string& program, const Measurement& row,
                                   const fs::path& log, const std::vector<std::string>& metrics) {
  // A kernel runs anew for each few of the metrics. Before each time caches are emptied where a
  // timed call finds nothing in them; where it finds its own lines, the last time has left them.
  const bool is_cold = row.cell.cache == record::CacheMode::kCold;
  return {program,
          "--csv",
          "--page",
          "raw",
          "--print-units",
          "base",
          "--log-file",
          log.string(),
          "--metrics",
          fmt::format("{}", fmt::join(metrics, ",")),
          "--clock-control",
          "none",
          "--cache-control",
          is_cold ? "all" : "none",
          "--profile-from-start",
          "off",
          "--target-processes",
          "all"};
}

// One variant after the other; what the GPU refuses to count is not asked for again.
class Counter {
 public:
  Counter(std::string program, const Counting& counting)
      : program_(std::move(program)), counting_(counting) {}

  // A failure, or none.
  CountingFailure count(Measurement& row);

 private:
  struct Written {
    std::string log;  // by ncu alone: a variant that prints a table of its own counts nothing
    std::string all;
  };
  Written run(const Measurement& row, CountingFailure& failure) const;

  std::string program_;
  const Counting& counting_;
  std::vector<std::string> metrics_ = ncu_metrics();
};

Counter::Written Counter::run(const Measurement& row, CountingFailure& failure) const {
  const TemporaryFolder folder("why");
  const fs::path log = folder.path() / "ncu.csv";
  const record::RunOptions options = options_for(row, counting_);
  const ChildOutcome outcome = run_under_tool({.words = words_for(program_, row, log, metrics_),
                                               .options = options,
                                               .limit_s = counting_.limit_s},
                                              counting_.interrupted);
  if (outcome.was_silent) {
    failure = {fmt::format("ncu did not end within {:.0f} s and was stopped; another profiler may "
                           "have the GPU (nvidia-smi shows its processes)",
                           counting_.limit_s),
               true};
  } else if (outcome.exit_code == kNotStarted) {
    failure = {fmt::format("{} cannot be started", escaped(program_)), true};
  }
  const std::string said = text_in(log);
  return {said, outcome.err + '\n' + outcome.out + '\n' + said};
}

CountingFailure Counter::count(Measurement& row) {
  while (true) {
    CountingFailure failure;
    const Written written = run(row, failure);
    if (!failure.reason.empty() || counting_.interrupted.load()) return failure;
    if (auto counters = counters_in(written.log)) {
      row.counters = std::move(*counters);
      return {};
    }
    const std::vector<std::string> refused = refused_metrics(written.all, metrics_);
    if (refused.empty() || refused.size() >= metrics_.size()) return failure_in(written.all);
    std::erase_if(metrics_, [&](const std::string& metric) {
      return std::ranges::find(refused, metric) != refused.end();
    });
  }
}

// Why there is nothing to be started; empty: there is.
std::string obstacle_to(const record::Report& report, const std::string& program) {
  if (report.device.kind != record::DeviceKind::kCuda) {
    return "counters are read on GPUs, and this is the CPU";
  }
  if (!program.empty()) return "";
  return "ncu of Nsight Compute is neither on PATH nor in /usr/local/cuda/bin: install it, which "
         "the CUDA Toolkit and the package nsight-compute have, or put its folder on PATH";
}

void judge(const record::Report& report, Measurement& row) {
  const record::ReportTensor* const tensor = tensor_of(report, row);
  const record::Judgement judgement =
      record::limit_of(*row.counters, {.bytes_read = row.bytes_read,
                                       .elements = tensor->geometry.elements(),
                                       .time_s = row.time_s->median});
  row.counters->limit = judgement.limit;
  row.counters->judgement = judgement.text;
}

}  // namespace

CountingFailure failure_in(const std::string& text) {
  if (says(text, "ERR_NVGPUCTRPERM")) {
    return {"this user may not read the GPU's counters (ERR_NVGPUCTRPERM): " +
                device::how_to_allow_counters(device::read_counter_access()),
            true};
  }
  if (says(text, "driver resource was unavailable")) {
    return {
        "another profiler has the GPU's counters; end it, of DCGM with \"dcgmi profile "
        "--pause\"",
        true};
  }
  const std::string last = last_line({text});
  const bool is_of_program =
      says(text, "No kernels were profiled") || says(text, "nf4bench: error");
  if (is_of_program) {
    const std::size_t at = text.find("nf4bench: error: ");
    return {
        "ncu saw none of its kernels: " +
            (at == std::string::npos ? last : escaped(text.substr(at, text.find('\n', at) - at))),
        false};
  }
  return {fmt::format("ncu printed no table of counters, but: {}; a newer Nsight Compute may help",
                      last),
          true};
}

void count(record::Report& report, const Counting& counting) {
  const std::vector<Measurement*> rows = chosen_rows(report, counting.options.why);
  const std::string program = toolkit_program("ncu");
  CountingFailure failure = {obstacle_to(report, program), true};
  Counter counter(program, counting);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Measurement& row = *rows[i];
    if (counting.on_progress) {
      counting.on_progress(static_cast<double>(i) / static_cast<double>(rows.size()),
                           fmt::format("{} {} under ncu", row.cell.tensor, row.variant));
    }
    const bool is_hopeless = failure.is_of_all && !failure.reason.empty();
    if (!is_hopeless) failure = counter.count(row);
    if (counting.interrupted.load()) return;
    if (failure.reason.empty()) {
      judge(report, row);
    } else {
      row.counters.emplace().unavailable = failure.reason;
    }
  }
  if (failure.is_of_all && !failure.reason.empty()) {
    report.warnings.push_back("nothing was counted: " + failure.reason);
  }
}

}  // namespace nf4bench::bench
