#include "check/check.hpp"

#include "base/files/input_file.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "check/check_text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "report/host.hpp"
#include "report/report_file.hpp"
#include "text/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Whether a report that somebody sent can be true:
    nf4bench check report.json
  All reports of a folder, also beside each other, for a CI job:
    nf4bench check reports/ --json
"plausible" means that nothing in the report contradicts it; nobody can tell from a file that it is
true. Exit codes: 0 all plausible, 1 a report is refused, 3 there is none.)";

struct Arguments {
  Words inputs;
  bool json = false;
};

// The reports in `inputs`, and in `refused` what is none. A folder may hold other JSON, too. What
// cannot be opened is thrown.
std::vector<report::NamedReport> read_all(const Words& inputs,
                                          std::vector<check::Checked>& refused) {
  std::vector<report::NamedReport> reports;
  std::error_code ignored;
  for (const std::string& input : inputs) {
    const bool is_folder = std::filesystem::is_directory(input, ignored);
    for (const std::string& file : json_files(input)) {
      if (is_folder && !report::begins_as_report(beginning_of(file))) {
        write_stderr(fmt::format("passed over: {}: no report\n", escaped(file)));
        continue;
      }
      std::string text = read_input(file, report::kMostReportBytes);
      try {
        reports.push_back({file, report::report_from_json(std::move(text), file)});
      } catch (const Error& error) {
        refused.push_back({file, {{check::Code::kUnreadable, "", error.what()}}});
      }
    }
  }
  if (reports.empty() && refused.empty()) {
    throw Error(ErrorKind::kInput, fmt::format("{}: holds no report as \"nf4bench run --json\" "
                                               "writes it",
                                               escaped(inputs.front())));
  }
  return reports;
}

ExitCode check_all(const Arguments& arguments) {
  std::vector<check::Checked> checked;
  const std::vector<report::NamedReport> reports = read_all(arguments.inputs, checked);
  for (check::Checked& each : check::check_reports(reports, report::utc_now())) {
    checked.push_back(std::move(each));
  }
  write_stdout(arguments.json ? check::check_json(checked).text + "\n"
                              : text::terminal(check::check_sheet(checked), table_style()));
  const bool is_fine = std::all_of(checked.begin(), checked.end(),
                                   [](const check::Checked& each) { return each.is_plausible(); });
  return is_fine ? ExitCode::kOk : ExitCode::kGateFailed;
}

}  // namespace

Command check_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("check", "Say whether reports that others sent are plausible", kExamples);
  command.add("input", a->inputs, "Folders of reports, or reports", kRequired | kTakesAll | kFiles);
  command.add("--json", a->json, "Print JSON instead of a table");
  command.run = [a](const Context&) { return check_all(*a); };
  return command;
}

}  // namespace nf4bench::cli
