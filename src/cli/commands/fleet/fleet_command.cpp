#include "cli/commands/fleet/fleet_command.hpp"

#include "base/terminal.hpp"
#include "fleet/fleet_file.hpp"
#include "fleet/fleet_text.hpp"

#include <unistd.h>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Who is slow among the GPUs of a merged file, and why:
    nf4bench fleet fleet.json
  For a job that is to fail when a GPU is slow or has no report:
    nf4bench fleet fleet.json --gate
  Every unit and cell as JSON:
    nf4bench fleet fleet.json --json
Exit codes: 0 done, 1 the gate failed, 2 usage, 3 bad input, 6 with --gate: too few units.)";

}  // namespace

CLI::App* add_fleet_command(CLI::App& app, FleetArguments& arguments) {
  CLI::App* command =
      add_command(app, "fleet", "Rank the GPUs of a merged file, and say who is slow", kExamples);
  add_single(*command, arguments.input, {"fleet", "FLEET", "A file that \"nf4bench merge\" wrote"})
      .required()
      .files();
  add_flag(*command, "--all", arguments.all,
           "Show every unit and cell, not only the most remarkable");
  add_flag(*command, "--gate", arguments.gate,
           "Exit with code 1 when a unit is SLOW or FAILED, or has no\nreport that counts");
  add_flag(*command, "--json", arguments.json, "Print JSON instead of tables");
  return command;
}

ExitCode execute(const FleetArguments& arguments, const Context&) {
  const fleet::Fleet fleet = fleet::read_fleet(arguments.input);
  std::vector<fleet::GroupAnalysis> analyses;
  for (const fleet::Group& group : fleet.groups) analyses.push_back(fleet::analyse(group));
  const fleet::FleetGate gate = fleet::decide_gate(fleet, analyses);
  const fleet::JudgedFleet judged = {.fleet = fleet,
                                     .analyses = analyses,
                                     .gate = arguments.gate ? &gate : nullptr,
                                     .all = arguments.all};
  if (arguments.json) {
    write_stdout(fleet::ranking_json(judged));
  } else {
    const Terminal terminal = terminal_of(STDOUT_FILENO);
    write_stdout(
        fleet::ranking_table(judged, {.width = terminal.width, .colour = terminal.colour}));
  }
  return arguments.gate ? gate.code : ExitCode::kOk;
}

}  // namespace nf4bench::cli
