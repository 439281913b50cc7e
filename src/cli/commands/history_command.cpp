#include "cli/commands/history_command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/options/compare_choices.hpp"
#include "cli/report_files.hpp"
#include "compare/history/history.hpp"
#include "compare/history/history_text.hpp"
#include "operation/operation.hpp"
#include "report/report_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Every cell over all reports below a folder, with the run at which it changed:
    nf4bench history reports/
  Only this host's GPUs, or one by its UUID:
    nf4bench history reports/ --unit $(hostname)
  One variant, as JSON for a plot:
    nf4bench history reports/ --variant simd --json
Runs on different devices are kept apart. A step is a change that lasted for three runs or more.)";

// Adds the reports in `input` and returns the variants of each. In a folder, files that are no
// reports are skipped.
std::vector<std::set<std::string>> add_reports(compare::HistoryBuilder& builder,
                                               const std::string& input) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(input, ignored);
  SkippedFiles skipped;
  std::vector<std::set<std::string>> variants;
  for (const std::string& file : json_files(input)) {
    try {
      const report::NamedReport report = report::read_report(file);
      builder.add(report);
      variants.push_back(measured_variants(report.report));
    } catch (const Error& error) {
      if (!is_folder) throw;
      skipped.add(error.what());
    }
  }
  skipped.finish();
  return variants;
}

}  // namespace

CLI::App* add_history_command(CLI::App& app, HistoryArguments& arguments) {
  CLI::App* command =
      add_command(app, "history", "Show how cells changed over many reports, and when", kExamples);
  add_repeated(*command, arguments.inputs, {"input", "", "Folders of reports, or reports"})
      .takes_all()
      .required()
      .files();
  add_single(*command, arguments.metric,
             {"--metric", "NAME", "time, speedup, fraction_of_copy or energy [time]"})
      .one_of(metric_words());
  add_list(*command, arguments.variants,
           {"--variant", "NAME,...", "Only these variants; * and ? are wildcards [all]"})
      .suggests(operation::built_in_variant_names());
  add_list(
      *command, arguments.units,
      {"--unit", "NAME,...", "Only GPUs of these UUIDs or hosts; * and ? are wildcards\n[all]"});
  add_single(*command, arguments.threshold,
             {"--threshold", "FRACTION", "The smallest step to tell [4 x the noise]"})
      .may_be_number();
  add_single(*command, arguments.noise,
             {"--noise", "FRACTION",
              "By how much medians differ from run to run, at least\n[0.5% on a GPU, 5% on a CPU]"})
      .may_be_number();
  add_flag(*command, "--changed", arguments.changed, "Show only the cells that changed");
  add_flag(*command, "--json", arguments.json, "Print JSON instead of a table");
  return command;
}

ExitCode execute(const HistoryArguments& arguments, const Context&) {
  compare::HistoryBuilder builder({.metric = parse_metric(arguments.metric),
                                   .threshold = parse_fraction("--threshold", arguments.threshold),
                                   .run_noise = parse_fraction("--noise", arguments.noise),
                                   .variants = arguments.variants,
                                   .units = arguments.units});
  std::size_t count = 0;
  std::set<std::string> measured;
  for (const std::string& input : arguments.inputs) {
    for (const std::set<std::string>& variants : add_reports(builder, input)) {
      ++count;
      measured.insert(variants.begin(), variants.end());
    }
  }
  if (count == 0) {
    throw Error(ErrorKind::kInput, fmt::format("{}: holds no report as \"nf4bench run --json\" "
                                               "writes it",
                                               escaped(arguments.inputs.front())));
  }
  check_variant_patterns(arguments.variants, measured);
  const compare::History history = builder.finish();
  if (history.devices.empty()) {
    throw Error(ErrorKind::kInput,
                fmt::format("--unit: no report is of a UUID or host \"{}\"",
                            escaped(fmt::format("{}", fmt::join(arguments.units, ",")))));
  }
  for (const compare::HistoryDevice& device : history.devices) {
    if (device.older_runs == 0) continue;
    write_stderr(fmt::format("{}: the newest {} runs are looked at, {} older ones are not\n",
                             device.device, device.runs.size(), device.older_runs));
  }
  if (arguments.json) {
    write_stdout(compare::history_json(history));
  } else {
    const compare::Shown shown =
        arguments.changed ? compare::Shown::kChanged : compare::Shown::kAll;
    write_stdout(
        compare::history_table(history, shown, text::report_style(terminal_of(STDOUT_FILENO))));
  }
  return ExitCode::kOk;
}

}  // namespace nf4bench::cli
