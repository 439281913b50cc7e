#include "cli/commands/fleet/merge_command.hpp"

#include "base/atomic_file.hpp"
#include "base/files/input_file.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "cli/outputs.hpp"
#include "cli/report_files.hpp"
#include "fleet/builder.hpp"
#include "fleet/fleet_file.hpp"
#include "report/host.hpp"
#include "report/report_input.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>

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

bool is_fleet_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a FIFO would wait
  std::string beginning(256, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return fleet::begins_as_fleet(beginning);
}

// Files named by themselves, and those in folders but for what merge wrote.
std::vector<std::string> report_paths(const std::vector<std::string>& inputs) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const std::string& input : inputs) {
    std::vector<std::string> files = json_files(input);
    if (std::filesystem::is_directory(input, ignored)) std::erase_if(files, is_fleet_file);
    paths.insert(paths.end(), files.begin(), files.end());
  }
  return paths;
}

// What one file comes to.
struct ReadReport {
  std::optional<fleet::UnitReport> report;
  std::string problem;  // why there is none
};

ReadReport read_one(const std::string& path) {
  try {
    return {fleet::unit_report(report::read_report(path)), ""};
  } catch (const Error& error) {
    std::string problem = error.what();
    const std::string prefix = escaped(path) + ": ";  // the path is told beside it
    return {std::nullopt, problem.starts_with(prefix) ? problem.substr(prefix.size()) : problem};
  }
}

// Reads in parallel and adds in order: a few reports are in memory at once, and the result does not
// depend on threads.
void add_reports(fleet::FleetBuilder& builder, std::span<const std::string> paths) {
  const std::size_t batch = 8 * static_cast<std::size_t>(hardware_threads());
  while (!paths.empty()) {
    const auto files = paths.first(std::min(batch, paths.size()));
    std::vector<ReadReport> read(files.size());
    parallel_for(std::ssize(read), 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        read[i] = read_one(files[i]);
      }
    });
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i].report) {
        builder.add(std::move(*read[i].report));
      } else {
        builder.add_unread({files[i], read[i].problem});
      }
    }
    paths = paths.subspan(files.size());
  }
}

std::string parse_since(const std::string& word) {
  if (word.empty() || fleet::is_date(word)) return word;
  throw Error(ErrorKind::kUsage,
              fmt::format("--since: found \"{}\", wanted a day such as 2026-03-04", escaped(word)));
}

OutputTarget target_of(const MergeArguments& arguments, const std::vector<std::string>& paths,
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

void check_words(const std::vector<std::string>& by) {
  const std::vector<std::string> words = fleet::group_words();
  for (const std::string& word : by) {
    if (std::find(words.begin(), words.end(), word) != words.end()) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("--by: found \"{}\", wanted one of {}.{}", escaped(word),
                            fmt::join(words, ", "), did_you_mean(word, words)));
  }
}

void write_to(const OutputTarget& target, const fleet::Fleet& fleet) {
  if (target.path == "-") return fleet::write_fleet(fleet, write_stdout);
  AtomicFile file(target.path, [&] { check_output(target); });
  fleet::write_fleet(fleet, [&](std::string_view piece) { file.write(piece); });
  file.commit();
}

void name_all(const char* what, const std::vector<fleet::LeftOut>& reports) {
  constexpr std::size_t kMostNamed = 20;
  for (std::size_t i = 0; i < std::min(reports.size(), kMostNamed); ++i) {
    write_stderr(fmt::format("{}: {}: {}\n", what, escaped(reports[i].report), reports[i].reason));
  }
  if (reports.size() > kMostNamed) {
    write_stderr(fmt::format("{}: {} more\n", what, reports.size() - kMostNamed));
  }
}

void tell(const fleet::Fleet& fleet) {
  name_all("refused", fleet.refused);
  name_all("replaced", fleet.replaced);
  name_all("not read", fleet.unread);
  for (const std::string& name : fleet.missing) {
    write_stderr(fmt::format("missing: {}\n", escaped(name)));
  }
  for (const fleet::Group& group : fleet.groups) {
    write_stderr(
        fmt::format("merged: {} with {}\n",
                    text::format_count(static_cast<long long>(group.units.size()), "unit"),
                    text::format_count(static_cast<long long>(group.cells.size()), "cell")));
  }
  if (!fleet.refused.empty()) {
    write_stderr(
        "Refused reports differ in what times depend on; --by NAME puts those that differ in NAME "
        "into a group of their own.\n");
  }
}

}  // namespace

CLI::App* add_merge_command(CLI::App& app, MergeArguments& a) {
  CLI::App* command =
      add_command(app, "merge", "Merge the reports of many GPUs into one file", kExamples);
  add_repeated(*command, a.inputs, {"input", "", "Folders of reports, or reports"})
      .takes_all()
      .required()
      .files();
  add_single(*command, a.output, {"-o,--output", "FILE", "Where to; \"-\" is stdout"})
      .required()
      .files();
  add_list(*command, a.by,
           {"--by", "NAME,...",
            "Groups of their own for units that differ in this:\n"
            "device, memory, driver, power_limit, mig, ecc, ..."})
      .one_of(fleet::group_words());
  add_single(*command, a.since,
             {"--since", "DAY",
              "Refuse reports of before, 2026-03-04 [what is 30 days\nolder than the newest]"});
  add_single(
      *command, a.expect,
      {"--expect", "FILE",
       "Names what is missing: a UUID or a host a line, after\na host how many units it has"})
      .files();
  add_force_option(*command, a.force);
  return command;
}

ExitCode execute(const MergeArguments& arguments, const Context& context) {
  check_words(arguments.by);
  const std::vector<std::string> paths = report_paths(arguments.inputs);
  const OutputTarget target = target_of(arguments, paths, context);
  check_text_output(target);
  std::string expected;
  if (!arguments.expect.empty()) expected = read_input(arguments.expect, kMostExpected);
  fleet::FleetBuilder builder({.since = parse_since(arguments.since), .now = report::utc_now()});
  add_reports(builder, paths);
  fleet::Fleet fleet = builder.finish(arguments.by);
  for (std::string& name : fleet::missing_units(fleet, expected, arguments.expect)) {
    fleet.missing.push_back(std::move(name));
  }
  if (fleet.groups.empty()) {
    name_all("not read", fleet.unread);
    throw Error(ErrorKind::kInput, fmt::format("{}: holds no report as \"nf4bench run --json\" "
                                               "writes it",
                                               escaped(arguments.inputs.front())));
  }
  write_to(target, fleet);
  tell(fleet);
  return fleet.refused.empty() ? ExitCode::kOk : ExitCode::kNotComparable;
}

}  // namespace nf4bench::cli
