#include "exports/export.hpp"

#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/shared_options.hpp"
#include "report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

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

using exports::ActionMetric;
const Choices<ActionMetric> kMetrics = {{"time", ActionMetric::kTime},
                                        {"bandwidth", ActionMetric::kBandwidth},
                                        {"speedup", ActionMetric::kSpeedup}};

struct Arguments {
  std::string report;
  std::string to;
  std::string output = "-";
  bool force = false;
  ActionMetric metric = ActionMetric::kTime;
};

Words format_names() {
  Words names;
  for (const exports::Format& format : exports::formats()) names.emplace_back(format.name);
  return names;
}

// An export replaces an older one of its own format.
OutputTarget target_of(const Arguments& arguments, const exports::Format& format,
                       const Context& context) {
  return {.option = "--output",
          .path = is_stdout(arguments.output) ? "-" : arguments.output,
          .read = files_read({.reports = {arguments.report}}, context),
          .kind = fmt::format("an export of nf4bench to {}", format.name),
          .is_of_kind = [&format](std::string_view beginning) { return is_of(format, beginning); },
          .force = arguments.force};
}

ExitCode write_export(const Arguments& arguments, const Context& context) {
  constexpr std::size_t kEnough = std::size_t{1} << 20;  // to be written at once
  const exports::Format& format =
      *std::ranges::find(exports::formats(), arguments.to, &exports::Format::name);
  if (arguments.metric != ActionMetric::kTime && !format.has_one_metric) {
    throw Error(ErrorKind::kUsage,
                "--metric goes with --to github-action or reframe only; {} holds all metrics",
                arguments.to);
  }
  const OutputTarget target = target_of(arguments, format, context);
  check_text_output(target);
  const record::Report report = report::read_report(arguments.report).report;
  write_text(target, [&](const json::TextSink& sink) {
    std::string text;
    format.write(report, arguments.metric, [&](std::string_view piece) {
      text += piece;
      if (text.size() < kEnough) return;
      sink(text);
      text.clear();
    });
    sink(text);
  });
  return ExitCode::kOk;
}

}  // namespace

Command export_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("export", "Write a report in the words of other tools", kExamples);
  command.add("report", a->report, "A report as \"nf4bench run --json\" writes it",
              kRequired | kFiles);
  command.add("--to FORMAT", a->to, fmt::format("{}", fmt::join(format_names(), ", ")), kRequired)
      .one_of(format_names());
  command.add("-o,--output FILE", a->output, "Where to; \"-\" is stdout [-]", kFiles);
  add_force_option(command, a->force);
  command.add("--metric NAME", choice(a->metric, kMetrics),
              "For github-action and reframe, which hold one metric each: time, bandwidth or "
              "speedup [time]");
  command.run = [a](const Context& context) { return write_export(*a, context); };
  return command;
}

}  // namespace nf4bench::cli
