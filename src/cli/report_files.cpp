#include "cli/report_files.hpp"

#include "base/input_file.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "report/host.hpp"
#include "report/report_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace nf4bench::cli {

void add_report_inputs(Command& command, Words& inputs) {
  command.add("input", inputs, "Folders of reports, or reports", kRequired | kTakesAll | kFiles);
}

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

CheckedReports read_and_check(const std::vector<std::string>& inputs) {
  CheckedReports all;
  std::error_code ignored;
  for (const std::string& input : inputs) {
    const bool is_folder = std::filesystem::is_directory(input, ignored);
    for (const std::string& file : json_files(input)) {
      if (is_folder && !report::begins_as_report(beginning_of(file))) {
        write_stderr(fmt::format("passed over: {}: no report\n", escaped(file)));
        continue;
      }
      std::string text = read_input(file, report::kMostReportBytes);
      try {
        all.reports.push_back({file, report::report_from_json(std::move(text), file)});
      } catch (const Error& error) {
        all.checked.push_back({file, {{check::Code::kUnreadable, "", error.what()}}});
      }
    }
  }
  if (all.reports.empty() && all.checked.empty()) throw no_report(inputs);
  for (check::Checked& each : check::check_reports(all.reports, report::utc_now())) {
    all.checked.push_back(std::move(each));
  }
  return all;
}

}  // namespace nf4bench::cli
