#include "trying/sanitizer.hpp"

#include "base/input_file.hpp"
#include "base/temporary_folder.hpp"
#include "bench/child_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

namespace nf4bench::trying {
namespace {

namespace fs = std::filesystem;

constexpr std::array kTools = {"memcheck", "racecheck", "initcheck", "synccheck"};
constexpr std::string_view kPrefix = "=========";
constexpr std::string_view kHead = "COMPUTE-SANITIZER";
constexpr int kLaunches = 4;  // of each kernel that is looked at
constexpr int kNotStarted = 127;

// Of the lines that begin no finding.
bool is_about_the_run(const std::string& text) {
  return std::ranges::any_of(
      std::array{"COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY",
                 "Warning:", "Error: ", "Target application", "Internal Sanitizer Error",
                 "Program hit", "No attachable process"},
      [&](const char* begin) { return text.starts_with(begin); });
}

std::string first_group(const std::string& text, const std::regex& form) {
  std::smatch found;
  return std::regex_search(text, found, form) ? found[1].str() : "";
}

// "at decode(job)+0x160 in mine.cu:6"
void find_place(const std::string& text, SanitizerFinding& finding) {
  static const std::regex form(R"( at (\S.*?)(?:\+|:)0x[0-9a-f]+(?: in (.+?):(\d{1,9}))?(?: |$))");
  std::smatch found;
  if (!finding.kernel.empty() || !std::regex_search(text, found, form)) return;
  finding.kernel = found[1];
  finding.file = found[2];
  if (found[3].matched) finding.line = std::stoll(found[3]);
}

void take_line(const std::string& text, SanitizerFinding& finding) {
  static const std::regex thread(R"([Tt]hreads?(?: starting at)? (\(\d+,\d+,\d+\)))");
  static const std::regex block(R"(in block (\(\d+,\d+,\d+\)))");
  static const std::regex address(
      R"((?:Address|detected at) ((?:__\w+__ )?0x[0-9a-f]+(?: is .*)?))");
  static const std::regex other(R"(^ +and (Read|Write) access)");
  find_place(text, finding);
  if (finding.thread.empty()) finding.thread = first_group(text, thread);
  if (finding.block.empty()) finding.block = first_group(text, block);
  if (finding.address.empty()) finding.address = first_group(text, address);
  const std::string access = first_group(text, other);
  if (!access.empty()) finding.kind += fmt::format(" and {} access", access);
}

// "ERROR: Race reported between Write access at RAW()+0xf0" without what stands elsewhere.
std::string kind_of(const std::string& text) {
  static const std::regex level("^(?:ERROR|WARNING): ");
  const std::string plain = std::regex_replace(text, level, "");
  const std::size_t end = std::min(plain.find(" at "), plain.find(" by thread"));
  return plain.substr(0, end);
}

// Those of the same kind at the same place are one.
std::vector<SanitizerFinding> gathered(const std::vector<SanitizerFinding>& all) {
  std::vector<SanitizerFinding> kept;
  for (const SanitizerFinding& each : all) {
    const auto same = std::ranges::find_if(kept, [&](const SanitizerFinding& other) {
      return each.kind == other.kind && each.kernel == other.kernel && each.file == other.file &&
             each.line == other.line;
    });
    if (same == kept.end()) {
      kept.push_back(each);
    } else {
      ++same->times;
    }
  }
  return kept;
}

std::vector<std::string> words_for(const std::string& program, const std::string& tool,
                                   const fs::path& log, const std::vector<std::string>& symbols) {
  std::vector<std::string> words = {program,
                                    "--tool=" + tool,
                                    "--log-file=" + log.string(),
                                    "--target-processes=application-only",
                                    "--show-backtrace=no",
                                    "--destroy-on-device-error=kernel",
                                    "--require-cuda-init=no",
                                    "--check-exit-code=no"};
  if (tool == "memcheck") words.emplace_back("--report-api-errors=no");
  for (const std::string& symbol : symbols) {
    words.push_back("--kernel-name=kernel_name=" + symbol);
  }
  if (!symbols.empty()) {
    const auto kernels = static_cast<int>(symbols.size());
    words.push_back(fmt::format("--launch-count={}", kLaunches * kernels));
  }
  return words;
}

}  // namespace

std::vector<SanitizerFinding> findings_in(const std::string& log, const std::string& tool) {
  std::vector<SanitizerFinding> all;
  std::istringstream lines(log);
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kPrefix)) continue;
    const std::string text = line.substr(std::min(line.size(), kPrefix.size() + 1));
    const bool is_detail = text.starts_with(' ');
    if (!is_detail) is_inside = !text.empty() && !is_about_the_run(text);
    if (!is_inside) continue;
    if (!is_detail) all.push_back({.tool = tool, .kind = kind_of(text)});
    take_line(text, all.back());
  }
  return gathered(all);
}

Sanitized sanitize(const record::RunOptions& options, const std::vector<std::string>& symbols,
                   const std::atomic<bool>& interrupted) {
  const std::string program = bench::toolkit_program("compute-sanitizer");
  if (program.empty()) {
    return {{},
            "compute-sanitizer is not found: install the CUDA Toolkit, or put its bin folder on "
            "PATH"};
  }
  const TemporaryFolder folder("sanitize");
  Sanitized result;
  for (const std::string tool : kTools) {
    const fs::path log = folder.path() / (tool + ".log");
    const ChildOutcome outcome = bench::run_under_tool(
        {.words = words_for(program, tool, log, symbols), .options = options}, interrupted);
    if (interrupted.load()) break;
    const std::string text = text_in(log);
    if (outcome.exit_code == kNotStarted || text.find(kHead) == text.npos) {
      result.problem = fmt::format("compute-sanitizer --tool {} did not look at it: {}", tool,
                                   bench::last_line({outcome.out, outcome.err}));
      continue;
    }
    for (SanitizerFinding& finding : findings_in(text, tool)) {
      result.findings.push_back(std::move(finding));
    }
  }
  return result;
}

}  // namespace nf4bench::trying
