#include "cli/commands/export_command.hpp"

#include "base/atomic_file.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "cli/outputs.hpp"
#include "exports/export.hpp"
#include "report/report_input.hpp"
#include "text/text_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  A page for a browser, and a table for a spreadsheet or pandas:
    nf4bench export report.json --to html -o report.html
    nf4bench export report.json --to csv -o report.csv
  Judge two runs with Google Benchmark's own script:
    nf4bench export report.json --to google-benchmark -o google.json
  A file for the textfile collector of Prometheus:
    nf4bench export report.json --to openmetrics -o nf4bench.prom
  What github-action-benchmark takes as customBiggerIsBetter:
    nf4bench export report.json --to github-action --metric speedup
Exit codes: 0 written, 2 usage, 3 bad input.)";

struct MetricName {
  const char* name;
  exports::ActionMetric metric;
};
constexpr MetricName kMetrics[] = {{"time", exports::ActionMetric::kTime},
                                   {"bandwidth", exports::ActionMetric::kBandwidth},
                                   {"speedup", exports::ActionMetric::kSpeedup}};

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const MetricName& each : kMetrics) names.emplace_back(each.name);
  return names;
}

exports::ActionMetric parse_metric(const std::string& word) {
  for (const MetricName& each : kMetrics) {
    if (word == each.name) return each.metric;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("--metric: found \"{}\", wanted one of {}.{}", escaped(word),
                          fmt::join(metric_names(), ", "), did_you_mean(word, metric_names())));
}

using exports::Format;

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : exports::formats()) names.emplace_back(format.name);
  return names;
}

// The names in lines that fit the help.
std::string format_help() {
  constexpr int kWidth = 60;
  const std::string names = fmt::format("{}", fmt::join(format_names(), ", "));
  return fmt::format("{}", fmt::join(text::wrapped(names, kWidth, 0), "\n"));
}

const Format& parse_format(const std::string& word) {
  for (const Format& format : exports::formats()) {
    if (word == format.name) return format;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("--to: found \"{}\", wanted one of {}.{}", escaped(word),
                          fmt::join(format_names(), ", "), did_you_mean(word, format_names())));
}

// An export replaces an older one of its own format.
OutputTarget target_of(const ExportArguments& arguments, const Format& format,
                       const Context& context) {
  return {.option = "--output",
          .path = is_stdout(arguments.output) ? "-" : arguments.output,
          .read = files_read({.reports = {arguments.report}}, context),
          .kind = fmt::format("an export of nf4bench to {}", format.name),
          .is_of_kind = [&format](std::string_view beginning) { return is_of(format, beginning); },
          .force = arguments.force};
}

// Collects small pieces, so that few are written and none of them is large.
class Buffer {
 public:
  explicit Buffer(json::TextSink sink) : sink_(std::move(sink)) {}

  void add(std::string_view piece) {
    constexpr std::size_t kEnough = std::size_t{1} << 20;
    text_ += piece;
    if (text_.size() >= kEnough) flush();
  }
  void flush() {
    sink_(text_);
    text_.clear();
  }

 private:
  json::TextSink sink_;
  std::string text_;
};

using Write = std::function<void(const json::TextSink&)>;

void write_to(const json::TextSink& sink, const Write& write) {
  Buffer buffer(sink);
  write([&](std::string_view piece) { buffer.add(piece); });
  buffer.flush();
}

void write_in_pieces(const OutputTarget& target, const Write& write) {
  if (target.path == "-") {
    write_to(write_stdout, write);
    return;
  }
  AtomicFile file(target.path, [&] { check_output(target); });
  write_to([&](std::string_view piece) { file.write(piece); }, write);
  file.commit();
}

}  // namespace

CLI::App* add_export_command(CLI::App& app, ExportArguments& a) {
  CLI::App* command =
      add_command(app, "export", "Write a report in the words of other tools", kExamples);
  add_single(*command, a.report,
             {"report", "REPORT", "A report as \"nf4bench run --json\" writes it"})
      .required()
      .files();
  add_single(*command, a.to, {"--to", "FORMAT", format_help()}).required().one_of(format_names());
  add_single(*command, a.output, {"-o,--output", "FILE", "Where to; \"-\" is stdout [-]"}).files();
  add_force_option(*command, a.force);
  add_single(*command, a.metric,
             {"--metric", "NAME",
              "For github-action and reframe, which hold one metric each:\n"
              "time, bandwidth or speedup [time]"})
      .one_of(metric_names());
  return command;
}

ExitCode execute(const ExportArguments& arguments, const Context& context) {
  const exports::ActionMetric metric = parse_metric(arguments.metric);
  const Format& format = parse_format(arguments.to);
  if (metric != exports::ActionMetric::kTime && !format.has_one_metric) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--metric goes with --to github-action or reframe only; {} holds all "
                            "metrics",
                            arguments.to));
  }
  const OutputTarget target = target_of(arguments, format, context);
  check_text_output(target);
  const record::Report report = report::read_report(arguments.report).report;
  write_in_pieces(target, [&](const json::TextSink& sink) { format.write(report, metric, sink); });
  return ExitCode::kOk;
}

}  // namespace nf4bench::cli
