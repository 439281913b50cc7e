#include "peer/source_file.hpp"

#include "base/atomic_file.hpp"
#include "base/child_process.hpp"
#include "base/input_file.hpp"
#include "base/sha256.hpp"
#include "base/shared_library.hpp"
#include "base/text.hpp"
#include "json/json_tree.hpp"
#include "peer/compile_cache.hpp"
#include "peer/embedded.hpp"
#include "peer/kernel/kernel_facts.hpp"
#include "peer/kernel/kernel_program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace nf4bench::peer {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

constexpr double kLongestSilenceS = 300.0;
constexpr std::size_t kMostErrorChars = 400;
constexpr int kFirstWithOwnFeatures = 90;  // sm_90a has what sm_90 has not, and runs there alone

Words words_of_variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  std::istringstream named(value == nullptr || *value == '\0' ? otherwise : value);
  Words words;
  for (std::string word; named >> word;) words.push_back(word);
  return words;
}

bool is_cuda(const std::string& path) {
  return path.ends_with(".cu");
}

std::string gpu_of(int compute_capability) {
  return "-arch=" + (compute_capability == 0 ? "native" : architecture_name(compute_capability));
}

// A source file, and how it is compiled.
struct Source {
  std::string path;      // absolute
  Words compiler;        // the variables may hold words before and after it, too: "ccache g++"
  Words options;         // with which any of its products is made
  std::string question;  // all that the library depends on, but for what is in files
};

// The compiler is another one when its file is, and the processor when it can do other things.
std::string facts_of(const Source& source) {
  std::string facts;
  const std::string file = program_on_path(source.compiler.back());
  std::error_code error;
  const FileTime written = fs::last_write_time(file, error);
  if (!error) facts += fmt::format("{} {}\n", file, written.time_since_epoch().count());
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    if (line.starts_with("flags") || line.starts_with("Features")) return facts + line;
  }
  return facts;
}

// Of products nothing may be contracted, or scales are off in the last bit.
Source source_at(const std::string& path, int compute_capability, const fs::path& headers) {
  require_regular_file(path);
  write_file(headers / "nf4bench_peer.h", kPeerHeader);
  write_file(headers / "nf4bench_kernel.h", kKernelHeader);
  Source source;
  source.path = fs::absolute(path).lexically_normal().string();
  source.compiler = is_cuda(path) ? words_of_variable("NVCC", "nvcc")  //
                                  : words_of_variable("CXX", "c++");
  source.options =
      is_cuda(path)
          ? Words{"-O3",          "-std=c++17",       gpu_of(compute_capability),
                  "--fmad=false", "-Xcompiler=-fPIC", "-lineinfo",
                  "-Xptxas=-v"}
          : Words{"-O3", "-std=c++20", "-march=native", "-ffp-contract=off", "-fPIC", "-pthread"};
  source.options.push_back("-I" + headers.string());
  source.question =
      fmt::format("{}\n{}\n{}\n{}\n{}", fmt::join(source.compiler, "\n"),
                  fmt::join(source.options, "\n"), source.path, kKernelHeader, facts_of(source));
  return source;
}

ChildOutcome run(Words words) {
  const std::atomic<bool> never = false;  // Ctrl-C reaches the process, too
  return run_children({{.arguments = std::move(words),
                        .environment = {"LC_ALL=C"},
                        .is_this_program = false,
                        .input = {}}},
                      {.interrupted = never, .silence_s = kLongestSilenceS})
      .front();
}

ChildOutcome compile(const Source& source, const Words& product) {
  Words words = source.compiler;
  words.insert(words.end(), source.options.begin(), source.options.end());
  words.insert(words.end(), product.begin(), product.end());
  words.push_back(source.path);
  return run(std::move(words));
}

// The first of the errors; else the first line that is more than ptxas' facts of kernels, or that
// there is none.
std::string first_error(const std::string& log) {
  std::istringstream lines(log);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    const bool is_fact = line.starts_with("ptxas info") || line.starts_with("    ");
    if (first.empty() && !is_fact) first = line;
    if (!errors_in(line).empty()) return line;
  }
  return first.empty() ? "the compiler says nothing" : first;
}

void require_success(const std::string& path, const Source& source, const ChildOutcome& outcome) {
  if (outcome.exit_code == 0) return;
  if (outcome.exit_code == 127 && outcome.err.empty()) {
    throw Error(ErrorKind::kInput, "{} needs the compiler {}, which is not found", escaped(path),
                escaped(source.compiler.front()));
  }
  throw compile_error(path,
                      outcome.was_silent ? "the compiler does not end" : outcome.err + outcome.out);
}

// The files of a rule as compilers write them: "target: a.cpp b\ c.hpp \".
std::vector<std::string> files_of_rule(const fs::path& rule) {
  const std::string text = text_in(rule);
  std::vector<std::string> files(1);
  for (std::size_t i = text.find(": ") + 1; i > 0 && i < text.size(); ++i) {
    const bool is_escaped = text[i] == '\\' && i + 1 < text.size();
    if (is_escaped && text[i + 1] != '\n') {
      files.back() += text[++i];
    } else if (text[i] == ' ' || text[i] == '\n' || is_escaped) {
      if (!files.back().empty()) files.emplace_back();
    } else {
      files.back() += text[i];
    }
  }
  files.pop_back();
  return files;
}

int number_before(std::string_view text, std::size_t end, std::size_t& begin) {
  begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  int number = 0;
  std::from_chars(text.data() + begin, text.data() + end, number);
  return number;
}

// "peer.cpp:2:9", "peer.cu(2)"; else nowhere.
Diagnostic placed(std::string_view place, std::string_view message) {
  Diagnostic found = {.file = {}, .message = std::string(message)};
  std::size_t begin = 0;
  if (place.ends_with(')')) {
    found.line = number_before(place, place.size() - 1, begin);
  } else {
    found.line = number_before(place, place.size(), begin);
    std::size_t before = 0;
    const int line = begin > 0 ? number_before(place, begin - 1, before) : 0;
    if (line > 0) {
      found.column = std::exchange(found.line, line);
      begin = before;
    }
  }
  if (found.line > 0 && begin > 1) found.file = place.substr(0, begin - 1);
  return found;
}

}  // namespace

bool is_source_file(const std::string& path) {
  return path.ends_with(".cpp") || is_cuda(path);
}

std::vector<Diagnostic> errors_in(const std::string& log) {
  std::vector<Diagnostic> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view text = line;
    constexpr std::string_view kMissing = "undefined reference to ";
    if (text.find(kMissing) != text.npos) {
      found.push_back({.file = {}, .message = line.substr(text.find(kMissing))});
    }
    for (const std::string_view word : {": fatal error: ", ": error: ", ": catastrophic error: "}) {
      const std::size_t at = text.find(word);
      if (at == text.npos) continue;
      found.push_back(placed(text.substr(0, at), text.substr(at + word.size())));
      break;
    }
  }
  return found;
}

CompileError compile_error(const std::string& path, const std::string& log) {
  std::vector<Diagnostic> found = errors_in(log);
  const std::string more =
      found.size() > 1 ? fmt::format(" (and {} more errors)", found.size() - 1) : "";
  return {fmt::format("{} does not compile: {}{}", escaped(path),
                      printable(first_error(log).substr(0, kMostErrorChars)), more),
          std::move(found), log};
}

std::string architecture_name(int compute_capability) {
  return fmt::format("sm_{}{}", compute_capability,
                     compute_capability >= kFirstWithOwnFeatures ? "a" : "");
}

std::string compiled_library(const std::string& path, int compute_capability) {
  if (is_kernel_file(path)) return compiled_kernels(path, compute_capability);
  const CompileCache cache;
  const Source source = source_at(path, compute_capability, cache.folder());
  if (const auto kept = cache.find(source.question)) return kept->string();
  const fs::path temporary = cache.temporary();
  const fs::path rule = temporary.string() + ".d";
  const FileTime begun = FileTime::clock::now();
  const ChildOutcome outcome =
      compile(source, {"-shared", "-MD", "-MF", rule.string(), "-o", temporary.string()});
  const std::vector<std::string> files = files_of_rule(rule);
  std::error_code error;
  fs::remove(rule, error);
  if (outcome.exit_code != 0) fs::remove(temporary, error);
  require_success(path, source, outcome);
  if (is_cuda(path)) add_log(temporary.string(), outcome.err + outcome.out);
  return cache.keep(source.question, temporary, files, begun).string();
}

void keep_compilation(const std::string& path, int compute_capability, const std::string& folder) {
  if (is_kernel_file(path)) return keep_kernels(path, compute_capability, folder);
  const Source source = source_at(path, compute_capability, CompileCache().folder());
  const fs::path name = fs::path(folder) / fs::path(path).filename();
  write_file(name, text_in(path));
  const auto with_ending = [&](const char* ending) {
    return fs::path(name).replace_extension(ending).string();
  };
  const ChildOutcome outcome = is_cuda(path)
                                   ? compile(source, {"-cubin", "-o", with_ending(".cubin")})
                                   : compile(source, {"-Wall", "-S", "-o", with_ending(".s")});
  write_file(fs::path(folder) / "compiler.log", outcome.err + outcome.out);
  if (!is_cuda(path) || outcome.exit_code != 0) return;
  compile(source, {"-ptx", "-o", with_ending(".ptx")});
  keep_sass(with_ending(".cubin"));
}

std::string sass_of(const std::string& cubin) {
  for (const char* const tool : {"cuobjdump", "/usr/local/cuda/bin/cuobjdump"}) {
    ChildOutcome sass = run({tool, "-sass", cubin});
    if (sass.exit_code == 0) return std::move(sass.out);
  }
  return "";
}

void keep_sass(const std::string& cubin) {
  const std::string sass = sass_of(cubin);
  if (!sass.empty()) write_file(fs::path(cubin).replace_extension(".sass"), sass);
}

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostSolutionBytes = std::uint64_t{64} << 20;
constexpr std::size_t kDigitsOfName = 16;

// A name within a folder: strangers wrote it.
fs::path safe_path(const json::JsonNode& node) {
  fs::path path = fs::path(node.string()).lexically_normal();
  const bool leads_out =
      std::ranges::any_of(path, [](const fs::path& part) { return part == ".."; });
  const bool is_folder = !path.has_filename() || path == ".";
  if (is_folder || path.is_absolute() || leads_out) {
    node.refuse("the path of a file within the solution");
  }
  return path;
}

}  // namespace

bool is_solution_file(const std::string& path) {
  return path.ends_with(".json");
}

Solution unpacked_solution(const std::string& path) {
  const std::string text = read_input(path, kMostSolutionBytes);
  const json::JsonTree tree = json::parse_json(text, path);
  const json::JsonNode root(tree, path);
  const json::JsonNode entry = root["spec"]["entry_point"];
  const std::string file = entry.string().substr(0, entry.string().find("::"));
  const fs::path folder =
      CompileCache().folder() / ("solution-" + sha256_of(text).substr(0, kDigitsOfName));
  bool has_entry = false;
  root["sources"].each([&](const json::JsonNode& source) {
    const fs::path name = safe_path(source["path"]);
    has_entry = has_entry || name == fs::path(file).lexically_normal();
    const fs::path target = folder / name;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    write_file(target, source["content"].string());
  });
  if (!has_entry) entry.refuse("one of the files in sources, as \"kernel.cu::run\"");
  const auto text_of = [&root](const char* name) {
    return root.has(name) ? root[name].string_or_empty() : "";
  };
  return {.file = (folder / file).lexically_normal().string(),
          .name = text_of("name"),
          .definition = text_of("definition")};
}

}  // namespace nf4bench::peer
