#include "peer/compile_cache.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/file_lock.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <system_error>

namespace nf4bench::peer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 256;  // of each kind
constexpr std::size_t kMostAnswers = 8;  // to a question: versions of a file that is gone back to
constexpr std::chrono::hours kLongestCompilation{1};

std::string variable_or(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

fs::path made_folder() {
  const std::string home = variable_or("HOME", "");
  const std::string cache = variable_or("XDG_CACHE_HOME", home.empty() ? "" : home + "/.cache");
  if (cache.empty()) {
    throw Error(ErrorKind::kInput,
                "there is no folder for compiled files; set HOME or XDG_CACHE_HOME");
  }
  fs::path folder = fs::path(cache) / "nf4bench" / "peers";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorKind::kInput, "cannot make {}: {}; set XDG_CACHE_HOME to a folder",
                escaped(folder.string()), error.message());
  }
  return folder;
}

// Empty when it cannot be read.
std::string hash_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  Sha256 hash;
  std::array<char, 65536> bytes{};
  while (file.read(bytes.data(), bytes.size()) || file.gcount() > 0) {
    hash.update(std::as_bytes(std::span(bytes).first(static_cast<std::size_t>(file.gcount()))));
  }
  return hash.hex();
}

std::int64_t ticks_of(FileTime time) {
  return time.time_since_epoch().count();
}

// A file as a compiler has read it.
struct FileSeen {
  std::uintmax_t bytes = 0;
  std::int64_t written = 0;
  std::string hash;
  std::string path;

  // Its time tells without reading it; a file that was only touched is read.
  bool is_as_it_was() const {
    std::error_code error;
    if (fs::file_size(path, error) != bytes || error) return false;
    const FileTime now = fs::last_write_time(path, error);
    return !error && (ticks_of(now) == written || hash_of_file(path) == hash);
  }
};

struct KeptAnswer {
  std::string name;  // of the library
  std::vector<FileSeen> files;
};

// Lines: "library NAME", then "file BYTES TIME HASH PATH" for each that was read.
std::vector<KeptAnswer> read_answers(const fs::path& path) {
  std::vector<KeptAnswer> answers;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "library") {
      words >> answers.emplace_back().name;
    } else if (kind == "file" && !answers.empty()) {
      FileSeen seen;
      words >> seen.bytes >> seen.written >> seen.hash >> std::ws;
      std::getline(words, seen.path);
      answers.back().files.push_back(std::move(seen));
    }
  }
  return answers;
}

std::string text_of(const std::vector<KeptAnswer>& answers) {
  std::string text;
  for (const KeptAnswer& answer : answers) {
    text += fmt::format("library {}\n", answer.name);
    for (const FileSeen& file : answer.files) {
      text += fmt::format("file {} {} {} {}\n", file.bytes, file.written, file.hash, file.path);
    }
  }
  return text;
}

// None when one of them cannot be read, or was written after `since`.
std::optional<std::vector<FileSeen>> look_at(const std::vector<std::string>& files,
                                             FileTime since) {
  std::vector<FileSeen> seen;
  for (const std::string& path : files) {
    std::error_code error;
    const FileTime written = fs::last_write_time(path, error);
    if (error || written > since) return std::nullopt;
    const std::uintmax_t bytes = fs::file_size(path, error);
    std::string hash = hash_of_file(path);
    if (error || hash.empty()) return std::nullopt;
    seen.push_back({bytes, ticks_of(written), std::move(hash), path});
  }
  return seen;
}

struct Aged {
  FileTime written;
  fs::path path;
};

// Removes the oldest of more than kMostFiles.
void thin_out(std::vector<Aged> files) {
  if (files.size() <= kMostFiles) return;
  std::ranges::sort(files, std::greater(), &Aged::written);
  for (std::size_t i = kMostFiles; i < files.size(); ++i) {
    std::error_code error;
    fs::remove(files[i].path, error);
  }
}

}  // namespace

CompileCache::CompileCache() : folder_(made_folder()) {}

std::optional<fs::path> CompileCache::find(const std::string& question) const {
  for (const KeptAnswer& answer : read_answers(folder_ / (sha256_of(question) + ".made"))) {
    const bool is_it = std::ranges::all_of(answer.files, &FileSeen::is_as_it_was);
    fs::path library = folder_ / fs::path(answer.name).filename();
    std::error_code error;
    if (!is_it || !fs::is_regular_file(library, error)) continue;
    fs::last_write_time(library, FileTime::clock::now(), error);  // it is in use
    return library;
  }
  return std::nullopt;
}

fs::path CompileCache::temporary() const {
  std::string name = (folder_ / "XXXXXX.tmp").string();
  const Descriptor file(mkstemps(name.data(), 4));
  if (!file.is_open()) {
    throw Error(ErrorKind::kInput, "cannot write into {}: {}", escaped(folder_.string()),
                std::generic_category().message(errno));
  }
  return name;
}

fs::path CompileCache::keep(const std::string& question, const fs::path& temporary,
                            const std::vector<std::string>& files, FileTime since) const {
  fs::path library = folder_ / (hash_of_file(temporary.string()) + ".so");
  std::error_code error;
  fs::permissions(temporary, fs::perms::owner_all, error);
  fs::rename(temporary, library, error);
  if (error) {
    throw Error(ErrorKind::kInput, "cannot write {}: {}", escaped(library.string()),
                error.message());
  }
  if (std::optional<std::vector<FileSeen>> seen = look_at(files, since)) {
    const fs::path made = folder_ / (sha256_of(question) + ".made");
    std::vector<KeptAnswer> answers = read_answers(made);
    answers.insert(answers.begin(), {library.filename().string(), std::move(*seen)});
    if (answers.size() > kMostAnswers) answers.resize(kMostAnswers);
    write_file(made, text_of(answers));
  }
  prune();
  return library;
}

void CompileCache::prune() const {
  std::vector<Aged> libraries;
  std::vector<Aged> answers;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    const FileTime written = entry.last_write_time(error);
    if (error) continue;
    const std::string ending = entry.path().extension().string();
    if (ending == ".so") libraries.push_back({written, entry.path()});
    if (ending == ".made") answers.push_back({written, entry.path()});
    const bool is_left_behind = FileTime::clock::now() - written > kLongestCompilation;
    if (is_left_behind && (ending == ".tmp" || ending == ".d")) fs::remove(entry.path(), error);
  }
  thin_out(std::move(libraries));
  thin_out(std::move(answers));
}

}  // namespace nf4bench::peer
