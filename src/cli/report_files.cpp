#include "cli/report_files.hpp"

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace nf4bench::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 20;

}  // namespace

std::vector<std::string> json_files(const std::string& input) {
  std::error_code error;
  if (!fs::is_directory(input, error)) return {input};
  std::vector<std::string> files;
  auto entry =
      fs::recursive_directory_iterator(input, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path().string());
  }
  if (error) {
    throw Error(ErrorKind::kInput,
                fmt::format("{}: cannot be listed: {}", escaped(input), error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

void SkippedFiles::add(const std::string& why) {
  if (++count_ <= kMostNamed) write_stderr(fmt::format("passed over: {}\n", why));
}

void SkippedFiles::finish() const {
  if (count_ <= kMostNamed) return;
  write_stderr(fmt::format("passed over: {} more\n", count_ - kMostNamed));
}

}  // namespace nf4bench::cli
