#include "trying/tries_file.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/file_lock.hpp"
#include "base/input_file.hpp"
#include "base/output_target.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "json/json_text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace nf4bench::trying {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

[[noreturn]] void refuse(const fs::path& path) {
  throw Error(ErrorKind::kOutput, "cannot write {}: {}", escaped(path.string()),
              std::generic_category().message(errno));
}

// What a process that was killed left of a line is ended, so that the next one stands alone.
bool lacks_line_end(int file) {
  struct stat status = {};
  if (::fstat(file, &status) != 0 || status.st_size == 0) return false;
  char last = '\n';
  return ::pread(file, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

}  // namespace

fs::path tries_file_of(const std::string& file) {
  return file.ends_with(".jsonl") ? fs::path(file) : folder_of(file) / "tries.jsonl";
}

void append(const fs::path& path, const std::string& lines) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!file.is_open()) refuse(path);
  while (::flock(file.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  const std::string text = (lacks_line_end(file.get()) ? "\n" : "") + lines;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) refuse(path);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

Tries read_tries(const fs::path& path, const std::string& name) {
  Tries tries;
  std::error_code error;
  if (!fs::exists(path, error)) return tries;
  std::istringstream lines(read_input(path, kMostBytes));
  for (std::string line; std::getline(lines, line);) {
    try {
      Attempt attempt = attempt_from_json(line, path.string());
      if (name.empty() || attempt.file == name) tries.attempts.push_back(std::move(attempt));
    } catch (const Error&) {
      ++tries.passed_over;
    }
  }
  return tries;
}

namespace {

using json::JsonMember;
using json::JsonText;

JsonText object(const std::vector<JsonMember>& members) {
  return json::json_object(members, json::JsonLayout::kOneLine);
}

// Of a trace; any other status is a RUNTIME_ERROR there.
constexpr Word<Status> kTraceWords[] = {{Status::kOk, "PASSED"},
                                        {Status::kWrong, "INCORRECT_NUMERICAL"},
                                        {Status::kStateful, "INCORRECT_NUMERICAL"},
                                        {Status::kCompileError, "COMPILE_ERROR"},
                                        {Status::kTimeout, "TIMEOUT"}};

// Eight, four, four, four and twelve digits, the same for the same problem.
std::string uuid_of(const std::string& problem) {
  const std::string digits = sha256_of(problem);
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4),
                     digits.substr(12, 4), digits.substr(16, 4), digits.substr(20, 12));
}

JsonText workload_of(const TriedCell* cell, const std::string& definition) {
  std::vector<JsonMember> axes;
  std::vector<JsonMember> inputs;
  const JsonText random = object({{"type", "random"}});
  if (cell != nullptr) {
    if (cell->tokens > 0) {
      axes.push_back({"M", cell->tokens});
      inputs.push_back({"x", random});
    }
    axes.push_back({"N", cell->shape.front()});
    axes.push_back({"K", cell->shape.back()});
    axes.push_back({"blocksize", cell->blocksize});
    axes.push_back({"nested", cell->nested ? 1 : 0});
    inputs.push_back({"weight", random});
  }
  const JsonText all = object(axes);
  const std::string type = cell == nullptr ? "" : to_string(cell->output_type);
  return object(
      {{"uuid", uuid_of(definition + all.text + type)}, {"axes", all}, {"inputs", object(inputs)}});
}

JsonText correctness_of(const TriedCell& cell) {
  const bool is_bits = cell.status == Status::kOk && cell.tokens == 0;
  const JsonText unknown = json::json_string("NaN");
  std::vector<JsonMember> extra{{"mismatches", cell.mismatches}};
  if (cell.max_error) {
    extra.push_back({"max_error_over_rms_of_truth", *cell.max_error});
  }
  return object({{"max_relative_error", is_bits ? json::json_number(0.0) : unknown},
                 {"max_absolute_error", is_bits ? json::json_number(0.0) : unknown},
                 {"extra", object(extra)}});
}

JsonText performance_of(const TriedCell& cell) {
  constexpr double kMs = 1e3;
  const double time_s = cell.median_s.value_or(0.0);
  const double speedup = cell.baseline ? cell.baseline->ratio : 0.0;
  return object({{"latency_ms", kMs * time_s},
                 {"reference_latency_ms", kMs * time_s * speedup},
                 {"speedup_factor", speedup}});
}

std::string log_of(const Attempt& attempt, const TriedCell* cell) {
  const Status status = cell == nullptr ? attempt.status : cell->status;
  const std::string& reason = cell == nullptr ? attempt.reason : cell->reason;
  std::string log = to_string(status);
  if (cell != nullptr) {
    const char* gap = cell->variant.empty() ? "" : ".";
    log = fmt::format("{}{}{} in {}: {}", attempt.file, gap, cell->variant,
                      to_string(cell->output_type), log);
  }
  if (!reason.empty()) log += ": " + reason;
  for (const peer::Diagnostic& error : attempt.errors) {
    log += fmt::format("\n{}:{}:{}: {}", error.file, error.line, error.column, error.message);
  }
  return log;
}

std::string line_of(const Attempt& attempt, const TriedCell* cell) {
  const Status status = cell == nullptr ? attempt.status : cell->status;
  const std::string operation = cell == nullptr ? "" : "_" + cell->operation;
  std::string definition = "nf4" + operation;
  std::string solution = attempt.file;
  if (attempt.solves && !attempt.solves->definition.empty()) {
    definition = attempt.solves->definition;
  }
  if (attempt.solves && !attempt.solves->name.empty()) solution = attempt.solves->name;
  const std::string& device = attempt.device;
  const bool has_outputs = cell != nullptr && (status == Status::kOk || status == Status::kWrong ||
                                               status == Status::kStateful);
  const JsonText environment = object({{"hardware", device.empty() ? "none" : device},
                                       {"libs", object({{"nf4bench", attempt.version}})}});
  const JsonText evaluation =
      object({{"status", word_of(kTraceWords, status, "RUNTIME_ERROR")},
              {"environment", environment},
              {"timestamp", attempt.at},
              {"log", log_of(attempt, cell)},
              {"correctness", has_outputs ? correctness_of(*cell) : json::json_null()},
              {"performance", status == Status::kOk && cell != nullptr ? performance_of(*cell)
                                                                       : json::json_null()}});
  return object({{"definition", definition},
                 {"workload", workload_of(cell, definition)},
                 {"solution", solution},
                 {"evaluation", evaluation}})
             .text +
         '\n';
}

}  // namespace

std::string trace_of(const Attempt& attempt) {
  if (attempt.cells.empty()) return line_of(attempt, nullptr);
  std::string lines;
  for (const TriedCell& cell : attempt.cells) lines += line_of(attempt, &cell);
  return lines;
}

void check_trace(const std::string& trace, const std::string& file) {
  if (trace.empty()) return;
  const auto place_of = [](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
  };
  // That of all tries may not be there yet.
  if (is_stdout(trace) || place_of(trace) == place_of(tries_file_of(file))) {
    throw Error(ErrorKind::kUsage, "--trace: its lines are added to a file of their own; name one");
  }
  check_output({.option = "--trace",
                .path = trace,
                .read = {{file, "the kernel"}},
                .kind = "a trace",
                .is_of_kind = [](std::string_view beginning) {
                  return beginning.starts_with("{\"definition\": ");
                }});
}

}  // namespace nf4bench::trying
