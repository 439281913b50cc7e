#include "peer/source_file.hpp"

#include "base/atomic_file.hpp"
#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "peer/embedded.hpp"
#include "peer/shared_library.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace nf4bench::peer {
namespace {

using Words = std::vector<std::string>;

constexpr double kLongestSilenceS = 300.0;
constexpr std::size_t kMostErrorChars = 400;

std::string variable_or(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// Of products nothing may be contracted, or scales are off in the last bit. The variables may hold
// words before and after the compiler, too: "ccache g++".
Words compiler_for(const std::string& path) {
  const bool is_cuda = path.ends_with(".cu");
  std::istringstream named(is_cuda ? variable_or("NVCC", "nvcc") : variable_or("CXX", "c++"));
  Words words;
  for (std::string word; named >> word;) words.push_back(word);
  const Words options =
      is_cuda ? Words{"-O3",       "-std=c++17", "-arch=native", "--fmad=false", "-Xcompiler=-fPIC",
                      "-lineinfo", "-shared"}
              : Words{"-O3",   "-std=c++20", "-march=native", "-ffp-contract=off",
                      "-fPIC", "-shared",    "-pthread"};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

std::filesystem::path cache_folder() {
  const std::string home = variable_or("HOME", "");
  const std::string cache = variable_or("XDG_CACHE_HOME", home.empty() ? "" : home + "/.cache");
  if (cache.empty()) {
    throw Error(ErrorKind::kInput,
                "there is no folder for compiled files; set HOME or XDG_CACHE_HOME");
  }
  std::filesystem::path folder = std::filesystem::path(cache) / "nf4bench" / "peers";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorKind::kInput,
                fmt::format("cannot make {}: {}", escaped(folder.string()), error.message()));
  }
  return folder;
}

ChildCommand command_of(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return {.arguments = std::move(words),
          .environment = {"LC_ALL=C"},
          .is_this_program = false,
          .input = {}};
}

// The first line of what the compiler said that is an error; else the first line.
std::string first_error(const std::string& said) {
  std::istringstream lines(said);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    if (line.find("error") != std::string::npos) return line;
  }
  return first;
}

void require_success(const std::string& path, const Words& compiler, const ChildOutcome& outcome) {
  if (outcome.exit_code == 0) return;
  if (outcome.exit_code == 127 && outcome.err.empty()) {
    throw Error(ErrorKind::kInput, fmt::format("{} needs the compiler {}, which is not found",
                                               escaped(path), escaped(compiler.front())));
  }
  const std::string said =
      outcome.was_silent ? "the compiler does not end" : first_error(outcome.err + outcome.out);
  throw Error(ErrorKind::kInput, fmt::format("{} does not compile: {}", escaped(path),
                                             printable(said.substr(0, kMostErrorChars))));
}

// Of the compiler with its options and of all that it reads.
std::string key_of(const Words& compiler, const ChildOutcome& version,
                   const ChildOutcome& preprocessed) {
  Sha256 hash;
  const auto add = [&hash](const std::string& text) {
    hash.update(std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  };
  for (const std::string& word : compiler) add(word);
  add(version.out);
  add(preprocessed.out);
  return hash.hex();
}

}  // namespace

bool is_source_file(const std::string& path) {
  return path.ends_with(".cpp") || path.ends_with(".cu");
}

std::string compiled_library(const std::string& path) {
  require_regular_file(path);
  const std::filesystem::path folder = cache_folder();
  write_file(folder / "nf4bench_peer.h", kPeerHeader);
  Words compiler = compiler_for(path);
  compiler.push_back("-I" + folder.string());
  const std::atomic<bool> never = false;  // Ctrl-C reaches the compiler, too
  const ChildWatch watch = {.interrupted = never, .silence_s = kLongestSilenceS};
  const std::string source = std::filesystem::absolute(path).string();
  const std::vector<ChildOutcome> seen = run_children(
      {command_of({compiler.front()}, {"--version"}), command_of(compiler, {"-E", source})}, watch);
  require_success(path, compiler, seen.back());
  const std::filesystem::path library = folder / (key_of(compiler, seen[0], seen[1]) + ".so");
  if (std::filesystem::exists(library)) return library.string();
  const std::string temporary = fmt::format("{}.{}.tmp", library.string(), getpid());
  const ChildOutcome outcome =
      run_children({command_of(compiler, {"-o", temporary, source})}, watch).front();
  std::error_code error;
  if (outcome.exit_code != 0) std::filesystem::remove(temporary, error);
  require_success(path, compiler, outcome);
  std::filesystem::rename(temporary, library, error);
  if (error) {
    throw Error(ErrorKind::kInput,
                fmt::format("cannot write {}: {}", escaped(library.string()), error.message()));
  }
  return library.string();
}

}  // namespace nf4bench::peer
