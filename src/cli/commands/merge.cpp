#include "base/input_file.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/shared_options.hpp"
#include "fleet/builder.hpp"
#include "fleet/fleet.hpp"
#include "report/host.hpp"
#include "report/report_folder.hpp"

#include <filesystem>
#include <memory>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  The reports of many GPUs as one file, which "nf4bench fleet" judges:
    nf4bench merge reports/ -o fleet.json
  Units with different drivers or power limits in groups of their own:
    nf4bench merge reports/ --by driver,power_limit -o fleet.json
  Name what is missing: a UUID or a host a line, after a host how many GPUs it has:
    nf4bench merge reports/ --expect hosts.txt -o fleet.json
Exit codes: 0 all reports merged, 2 usage, 3 bad input, 7 reports were refused (the file holds the
others).)";

constexpr std::uint64_t kMostExpected = std::uint64_t{1} << 26;

struct Arguments {
  Words inputs;
  std::string output;
  Words by;
  std::string since;  // empty: by the newest
  std::string expect;
  bool force = false;
};

// Files named by themselves, and those in folders but for what merge wrote.
std::vector<std::string> report_paths(const std::vector<std::string>& inputs) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const std::string& input : inputs) {
    std::vector<std::string> files = report::json_files(input);
    if (std::filesystem::is_directory(input, ignored)) {
      std::erase_if(files, [](const std::string& file) {
        return fleet::begins_as_fleet(report::beginning_of(file));
      });
    }
    paths.insert(paths.end(), files.begin(), files.end());
  }
  return paths;
}

OutputTarget target_of(const Arguments& arguments, const std::vector<std::string>& paths,
                       const Context& context) {
  std::vector<std::string> read = paths;
  if (!arguments.expect.empty()) read.push_back(arguments.expect);
  return {.option = "--output",
          .path = is_stdout(arguments.output) ? "-" : arguments.output,
          .read = files_read({.reports = std::move(read)}, context),
          .kind = "a fleet that nf4bench merged",
          .is_of_kind = fleet::begins_as_fleet,
          .force = arguments.force};
}

ExitCode merge(const Arguments& arguments, const Context& context) {
  const std::vector<std::string> paths = report_paths(arguments.inputs);
  const OutputTarget target = target_of(arguments, paths, context);
  check_text_output(target);
  std::string expected;
  if (!arguments.expect.empty()) expected = read_input(arguments.expect, kMostExpected);
  fleet::Fleet fleet = fleet::merge_reports(paths, arguments.by,
                                            {.since = arguments.since, .now = report::utc_now()});
  for (std::string& name : fleet::missing_units(fleet, expected, arguments.expect)) {
    fleet.missing.push_back(std::move(name));
  }
  if (fleet.groups.empty()) {
    write_stderr(fleet::left_out_text("not read", fleet.unread));
    throw report::no_report(arguments.inputs);
  }
  write_text(target, [&](const json::TextSink& sink) { fleet::write_fleet(fleet, sink); });
  write_stderr(fleet::merge_text(fleet));
  return fleet.refused.empty() ? ExitCode::kOk : ExitCode::kNotComparable;
}

}  // namespace

Command merge_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("merge", "Merge the reports of many GPUs into one file", kExamples);
  add_report_inputs(command, a->inputs);
  command.add("-o,--output FILE", a->output, "Where to; \"-\" is stdout", kRequired | kFiles);
  command
      .add("--by NAME", a->by,
           "Groups of their own for units that differ in this: device, memory, driver, "
           "power_limit, mig, ecc, ...",
           kList)
      .one_of(fleet::group_words());
  command.add(
      "--since DAY",
      [a](const std::string& word) {
        if (!word.empty() && !fleet::is_date(word)) {
          throw Error(ErrorKind::kUsage, "--since: found \"{}\", wanted a day such as 2026-03-04",
                      escaped(word));
        }
        a->since = word;
      },
      "Refuse reports of before, 2026-03-04 [what is 30 days older than the newest]");
  command.add("--expect FILE", a->expect,
              "Names what is missing: a UUID or a host a line, after a host how many units it has",
              kFiles);
  add_force_option(command, a->force);
  command.run = [a](const Context& context) { return merge(*a, context); };
  return command;
}

}  // namespace nf4bench::cli
