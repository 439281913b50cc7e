#include "report/report_folder.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace nf4bench::report {

std::vector<std::string> json_files(const std::string& input) {
  std::error_code error;
  if (!std::filesystem::is_directory(input, error)) return {input};
  std::vector<std::string> files;
  auto entry = std::filesystem::recursive_directory_iterator(
      input, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path().string());
  }
  if (error) {
    throw Error(ErrorKind::kInput, "{}: cannot be listed: {}", escaped(input), error.message());
  }
  std::ranges::sort(files);
  return files;
}

std::string beginning_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";  // a FIFO would wait
  std::string beginning(256, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return beginning;
}

Error no_report(const std::vector<std::string>& inputs) {
  return {ErrorKind::kInput, "{}: holds no report as \"nf4bench run --json\" writes it",
          escaped(inputs.front())};
}

}  // namespace nf4bench::report
