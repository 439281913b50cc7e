#include "report/report_input.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace nf4bench::report {

NamedReport read_report(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorKind::kInput,
                fmt::format("{}: is a folder, wanted a report as \"nf4bench run --json\" writes it",
                            escaped(path)));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const std::string why = std::generic_category().message(errno);
    throw Error(ErrorKind::kInput, fmt::format("{}: cannot be read: {}", escaped(path), why));
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) {
    throw Error(ErrorKind::kInput, fmt::format("{}: cannot be read to its end", escaped(path)));
  }
  return {.name = path, .report = report_from_json(text, path)};
}

std::vector<NamedReport> read_reports(const std::vector<std::string>& paths) {
  std::vector<NamedReport> reports;
  reports.reserve(paths.size());
  for (const std::string& path : paths) reports.push_back(read_report(path));
  return reports;
}

}  // namespace nf4bench::report
