#include "compare/history/history.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/shared_options.hpp"
#include "compare/run_cells.hpp"
#include "report/report.hpp"
#include "report/report_folder.hpp"
#include "text/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

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

struct Arguments {
  Words inputs;
  Comparing comparing;
  Words units;
  bool changed = false;
  bool json = false;
};

// The reports that were read, and the variants in them.
struct Reports {
  std::size_t count = 0;
  std::set<std::string> variants{};
};

// Adds the reports in `input`. In a folder, files that are no reports are skipped, the first of
// which are named.
void add_reports(compare::HistoryBuilder& builder, const std::string& input, Reports& reports) {
  constexpr std::size_t kMostNamed = 20;
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(input, ignored);
  std::size_t skipped = 0;
  for (const std::string& file : report::json_files(input)) {
    try {
      const report::NamedReport report = report::read_report(file);
      builder.add(report);
      ++reports.count;
      reports.variants.merge(compare::measured_variants(report.report));
    } catch (const Error& error) {
      if (!is_folder) throw;
      if (++skipped <= kMostNamed) write_stderr(fmt::format("passed over: {}\n", error.what()));
    }
  }
  if (skipped > kMostNamed) {
    write_stderr(fmt::format("passed over: {} more\n", skipped - kMostNamed));
  }
}

compare::History history_of(const Arguments& arguments) {
  compare::HistoryBuilder builder({.metric = arguments.comparing.metric,
                                   .threshold = arguments.comparing.threshold,
                                   .run_noise = arguments.comparing.noise,
                                   .variants = arguments.comparing.variants,
                                   .units = arguments.units});
  Reports reports;
  for (const std::string& input : arguments.inputs) add_reports(builder, input, reports);
  if (reports.count == 0) throw report::no_report(arguments.inputs);
  compare::check_patterns(arguments.comparing.variants, reports.variants);
  compare::History history = builder.finish();
  if (!history.devices.empty()) return history;
  throw Error(ErrorKind::kInput, "--unit: no report is of a UUID or host \"{}\"",
              escaped(fmt::format("{}", fmt::join(arguments.units, ","))));
}

ExitCode show(const Arguments& arguments) {
  const compare::History history = history_of(arguments);
  for (const compare::HistoryDevice& device : history.devices) {
    if (device.older_runs == 0) continue;
    write_stderr(fmt::format("{}: the newest {} runs are looked at, {} older ones are not\n",
                             escaped(device.device), device.runs.size(), device.older_runs));
  }
  const compare::Shown shown = arguments.changed ? compare::Shown::kChanged : compare::Shown::kAll;
  write_stdout(arguments.json ? compare::history_json(history)
                              : compare::history_table(history, shown, text::table_style()));
  return ExitCode::kOk;
}

}  // namespace

Command history_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("history", "Show how cells changed over many reports, and when", kExamples);
  add_report_inputs(command, a->inputs);
  add_comparing(
      command, a->comparing, "The smallest step to tell [4 x the noise]",
      "By how much medians differ from run to run, at least [0.5% on a GPU, 5% on a CPU]");
  command.add("--unit NAME", a->units,
              "Only GPUs of these UUIDs or hosts; * and ? are wildcards [all]", kList);
  command.add("--changed", a->changed, "Show only the cells that changed");
  command.add("--json", a->json, "Print JSON instead of a table");
  command.run = [a](const Context&) { return show(*a); };
  return command;
}

}  // namespace nf4bench::cli
