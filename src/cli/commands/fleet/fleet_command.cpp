#include "cli/commands/fleet/fleet_command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "fleet/fleet_file.hpp"
#include "fleet/fleet_text.hpp"
#include "fleet/judged_text.hpp"
#include "page/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>
#include <vector>

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

// A form of the result. A new one is a line in formats().
struct Format {
  const char* name;
  std::string (*text)(const fleet::JudgedFleet& judged);
};

std::string table_of(const fleet::JudgedFleet& judged) {
  return fleet::ranking_table(judged, text::report_style(terminal_of(STDOUT_FILENO)));
}

std::string page_of(const fleet::JudgedFleet& judged) {
  return page::page_text({.title = "fleet: " + fleet::count_text(judged.analyses),
                          .json = fleet::ranking_json(judged),
                          .tables = text::html(fleet::ranking_document(judged))});
}

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      {"table", table_of},
      {"markdown",
       [](const fleet::JudgedFleet& judged) {
         return text::markdown(fleet::ranking_document(judged));
       }},
      {"html", page_of},
      {"openmetrics", fleet::ranking_metrics}};
  return kFormats;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return names;
}

std::string format_help() {
  return fmt::format("{} [table]", fmt::join(format_names(), ", "));
}

const Format& parse_format(const std::string& word) {
  for (const Format& format : formats()) {
    if (word == format.name) return format;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("--format: found \"{}\", wanted one of {}.{}", escaped(word),
                          fmt::join(format_names(), ", "), did_you_mean(word, format_names())));
}

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
  const Option format = add_single(*command, arguments.format, {"--format", "NAME", format_help()});
  format.one_of(format_names());
  add_flag(*command, "--json", arguments.json, "Print JSON instead of tables").excludes(format);
  return command;
}

ExitCode execute(const FleetArguments& arguments, const Context&) {
  const Format& format = parse_format(arguments.format);
  const fleet::Fleet fleet = fleet::read_fleet(arguments.input);
  std::vector<fleet::GroupAnalysis> analyses;
  for (const fleet::Group& group : fleet.groups) analyses.push_back(fleet::analyse(group));
  const fleet::FleetGate gate = fleet::decide_gate(fleet, analyses);
  const fleet::JudgedFleet judged = {.fleet = fleet,
                                     .analyses = analyses,
                                     .gate = arguments.gate ? &gate : nullptr,
                                     .all = arguments.all};
  write_stdout(arguments.json ? fleet::ranking_json(judged) : format.text(judged));
  return arguments.gate ? gate.code : ExitCode::kOk;
}

}  // namespace nf4bench::cli
