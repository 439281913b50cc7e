#include "fleet/fleet.hpp"

#include "base/terminal.hpp"
#include "cli/commands/commands.hpp"
#include "fleet/ranking_text.hpp"
#include "page/page.hpp"
#include "text/page.hpp"

#include <memory>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Who is slow among the GPUs of a merged file, and why:
    nf4bench fleet fleet.json
  For a job that is to fail when a GPU is slow or has no report:
    nf4bench fleet fleet.json --gate
  What is wrong with which GPU, for a ticket:
    nf4bench fleet fleet.json --format markdown
  A page with a ranking, a heat map and each slow GPU against the others:
    nf4bench fleet fleet.json --format html > fleet.html
  Every unit and cell as JSON:
    nf4bench fleet fleet.json --json
Exit codes: 0 done, 1 the gate failed, 2 usage, 3 bad input, 6 with --gate: too few units.)";

struct Arguments {
  std::string input;
  std::string format = "table";
  bool all = false;
  bool gate = false;
  bool json = false;
};

std::string text_of(const fleet::JudgedFleet& judged, const std::string& format) {
  if (format == "json") return fleet::ranking_json(judged);
  if (format == "table") return fleet::ranking_table(judged, text::table_style());
  if (format == "markdown") return text::markdown(fleet::ranking_document(judged));
  if (format == "openmetrics") return fleet::ranking_metrics(judged);
  return page::page_text({.title = "fleet: " + fleet::count_text(judged.analyses),
                          .json = fleet::ranking_json(judged),
                          .tables = text::html(fleet::ranking_document(judged))});
}

ExitCode judge(const Arguments& arguments) {
  const fleet::Fleet fleet = fleet::read_fleet(arguments.input);
  std::vector<fleet::GroupAnalysis> analyses;
  analyses.reserve(fleet.groups.size());
  for (const fleet::Group& group : fleet.groups) analyses.push_back(fleet::analyse(group));
  const compare::GateDecision gate = fleet::decide_gate(fleet, analyses);
  const fleet::JudgedFleet judged = {.fleet = fleet,
                                     .analyses = analyses,
                                     .gate = arguments.gate ? &gate : nullptr,
                                     .all = arguments.all};
  write_stdout(text_of(judged, arguments.json ? "json" : arguments.format));
  return arguments.gate ? gate.code : ExitCode::kOk;
}

}  // namespace

Command fleet_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("fleet", "Rank the GPUs of a merged file, and say who is slow", kExamples);
  command.add("fleet", a->input, "A file that \"nf4bench merge\" wrote", kRequired | kFiles);
  command.add("--all", a->all, "Show every unit and cell, not only the most remarkable");
  command.add("--gate", a->gate,
              "Exit with code 1 when a unit is SLOW or FAILED, or has no report that counts");
  command.add("--format NAME", a->format, "table, markdown, html, openmetrics [table]")
      .one_of({"table", "markdown", "html", "openmetrics"});
  command.add("--json", a->json, "Print JSON instead of tables").excludes("--format");
  command.run = [a](const Context&) { return judge(*a); };
  return command;
}

}  // namespace nf4bench::cli
