#include "check/check.hpp"

#include "base/terminal.hpp"
#include "cli/commands/commands.hpp"
#include "cli/shared_options.hpp"
#include "text/page.hpp"

#include <algorithm>
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

ExitCode check_all(const Arguments& arguments) {
  const std::vector<check::Checked> checked = check::read_and_check(arguments.inputs).checked;
  write_stdout(arguments.json ? check::check_json(checked).text + "\n"
                              : text::terminal(check::check_sheet(checked), text::table_style()));
  const bool is_fine = std::ranges::all_of(checked, &check::Checked::is_plausible);
  return is_fine ? ExitCode::kOk : ExitCode::kGateFailed;
}

}  // namespace

Command check_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("check", "Say whether reports that others sent are plausible", kExamples);
  add_report_inputs(command, a->inputs);
  command.add("--json", a->json, "Print JSON instead of a table");
  command.run = [a](const Context&) { return check_all(*a); };
  return command;
}

}  // namespace nf4bench::cli
