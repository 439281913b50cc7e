#include "bench/child_run.hpp"

#include "base/atomic_file.hpp"
#include "base/signals.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "plan/run_options_json.hpp"

#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

namespace nf4bench::bench {

ChildCommand run_command_for(const record::RunOptions& options,
                             const std::vector<std::string>& environment) {
  std::vector<std::string> variables = {"NF4BENCH_CONFIG="};
  variables.insert(variables.end(), environment.begin(), environment.end());
  return {.arguments = {"nf4bench", "run", "--options=/dev/stdin"},
          .environment = std::move(variables),
          .input = plan::run_options_to_json(options)};
}

namespace {

namespace fs = std::filesystem;

}  // namespace

std::string toolkit_program(const std::string& name) {
  const fs::path installed = fs::path("/usr/local/cuda/bin") / name;
  const std::string on_path = program_on_path(name);
  std::error_code error;
  return on_path.empty() && fs::is_regular_file(installed, error) ? installed.string() : on_path;
}

// A file holds the options: not every tool passes on what it could read from stdin. Lines are the
// same whatever the language of the user, and nobody waits for a lock of the run that asks.
ChildOutcome run_under_tool(const ToolRun& run, const std::atomic<bool>& interrupted) {
  const TemporaryFolder folder("tool");
  const fs::path settings = folder.path() / "options.json";
  write_file(settings, plan::run_options_to_json(run.options));
  std::vector<std::string> words = run.words;
  for (const std::string& word : {fs::read_symlink("/proc/self/exe").string(), std::string("run"),
                                  "--options=" + settings.string()}) {
    words.push_back(word);
  }
  return run_children({{.arguments = std::move(words),
                        .environment = {"NF4BENCH_CONFIG=", "NF4BENCH_LOCKS=", "NF4BENCH_PROGRESS=",
                                        "LC_ALL=C"},
                        .is_this_program = false,
                        .leads_group = true}},
                      {.interrupted = interrupted,
                       .stop_signal = signal_for_children,
                       .silence_s = run.limit_s})
      .front();
}

std::string last_line(const std::vector<std::string>& texts) {
  std::string last = "nothing";
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) last = line;
    }
  }
  return escaped(last);
}

}  // namespace nf4bench::bench
