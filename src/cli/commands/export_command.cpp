#include "cli/commands/export_command.hpp"

#include "base/atomic_file.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "exports/export.hpp"
#include "report/report_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <functional>
#include <system_error>
#include <vector>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  A page for a browser, and a table for a spreadsheet or pandas:
    nf4bench export report.json --to html -o report.html
    nf4bench export report.json --to csv -o report.csv
  Judge two runs with Google Benchmark's own script:
    nf4bench export report.json --to google-benchmark -o google.json
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

struct Format {
  const char* name;
  std::function<std::string(const record::Report&)> write;
};

std::vector<Format> formats_of(exports::ActionMetric metric) {
  return {
      {"csv", exports::to_csv},
      {"markdown", exports::to_markdown},
      {"google-benchmark", exports::to_google_benchmark},
      {"nvbench", exports::to_nvbench},
      {"bencher", exports::to_bencher},
      {"html", exports::to_html},
      {"github-action",
       [metric](const record::Report& report) {
         return exports::to_github_action(report, metric);
       }},
  };
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats_of(exports::ActionMetric::kTime))
    names.emplace_back(format.name);
  return names;
}

Format parse_format(const std::string& word, exports::ActionMetric metric) {
  for (const Format& format : formats_of(metric)) {
    if (word == format.name) return format;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("--to: found \"{}\", wanted one of {}.{}", escaped(word),
                          fmt::join(format_names(), ", "), did_you_mean(word, format_names())));
}

// A typing error must not overwrite a report with its export.
void check_is_other_file(const ExportArguments& arguments) {
  std::error_code ignored;
  if (std::filesystem::equivalent(arguments.report, arguments.output, ignored)) {
    throw Error(ErrorKind::kUsage, fmt::format("--output: {} is the report itself; name another "
                                               "file",
                                               escaped(arguments.output)));
  }
}

}  // namespace

CLI::App* add_export_command(CLI::App& app, ExportArguments& a) {
  CLI::App* command =
      add_command(app, "export", "Write a report in the words of other tools", kExamples);
  add_single(*command, a.report,
             {"report", "REPORT", "A report as \"nf4bench run --json\" writes it"})
      .required()
      .files();
  add_single(*command, a.to, {"--to", "FORMAT", fmt::format("{}", fmt::join(format_names(), ", "))})
      .required()
      .one_of(format_names());
  add_single(*command, a.output, {"-o,--output", "FILE", "Where to; \"-\" is stdout [-]"}).files();
  add_single(*command, a.metric,
             {"--metric", "NAME",
              "For github-action, whose files hold one metric each:\ntime, bandwidth or speedup "
              "[time]"})
      .one_of(metric_names());
  return command;
}

ExitCode execute(const ExportArguments& arguments, const Context&) {
  const Format format = parse_format(arguments.to, parse_metric(arguments.metric));
  if (arguments.metric != "time" && arguments.to != "github-action") {
    throw Error(ErrorKind::kUsage, fmt::format("--metric goes with --to github-action only; {} "
                                               "holds all metrics",
                                               arguments.to));
  }
  check_is_other_file(arguments);
  const std::string text = format.write(report::read_report(arguments.report).report);
  if (arguments.output == "-") {
    write_stdout(text);
  } else {
    write_file(arguments.output, text);
  }
  return ExitCode::kOk;
}

}  // namespace nf4bench::cli
