#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "text/page.hpp"
#include "trying/ranking.hpp"
#include "trying/tries_file.hpp"
#include "trying/try_sheet.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  nf4bench tries docs/examples/try/decode.cpp
  nf4bench tries docs/examples/try/tries.jsonl       of all kernels in the folder
Each try is ranked by how much faster it was than the baseline beside it, on the same device and shapes; those whose intervals overlap share places. Exit codes: 0 ok, 3 there is no try.)";

struct Arguments {
  std::string file;
  bool json = false;
};

// The best of each group first, then what was not ok.
std::string json_lines(const std::vector<trying::Attempt>& attempts) {
  std::string text;
  std::vector<const trying::Attempt*> failed;
  for (const trying::Group& group : trying::rank(attempts, failed)) {
    for (const trying::Ranked& each : group.ranked) text += to_json(*each.attempt) + '\n';
  }
  for (const trying::Attempt* attempt : failed) text += to_json(*attempt) + '\n';
  return text;
}

ExitCode show(const Arguments& arguments) {
  const std::filesystem::path path = trying::tries_file_of(arguments.file);
  const bool is_of_all = path == std::filesystem::path(arguments.file);
  const std::string name =
      is_of_all ? "" : std::filesystem::path(arguments.file).filename().string();
  const trying::Tries tries = trying::read_tries(path, name);
  if (tries.passed_over > 0) {
    write_stderr(fmt::format("{}: {} lines are no tries and were passed over\n",
                             escaped(path.string()), tries.passed_over));
  }
  if (tries.attempts.empty()) {
    throw Error(ErrorKind::kInput, "{} holds no try of {}; \"nf4bench try {}\" makes one",
                escaped(path.string()), escaped(arguments.file), escaped(arguments.file));
  }
  write_stdout(arguments.json ? json_lines(tries.attempts)
                              : trying::ranking_text(tries.attempts, text::table_style()));
  return ExitCode::kOk;
}

}  // namespace

Command tries_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("tries", "Rank the tries of a kernel, the best first", kExamples);
  command.add("file", a->file, "The kernel, or the tries.jsonl beside it", kRequired | kFiles);
  command.add("--json", a->json, "Print the tries as lines of JSON instead of a table");
  command.run = [a](const Context&) { return show(*a); };
  return command;
}

}  // namespace nf4bench::cli
