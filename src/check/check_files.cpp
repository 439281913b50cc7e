#include "base/input_file.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "check/check.hpp"
#include "report/host.hpp"
#include "report/report_file.hpp"
#include "report/report_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace nf4bench::check {

CheckedReports read_and_check(const std::vector<std::string>& inputs) {
  CheckedReports all;
  std::error_code ignored;
  for (const std::string& input : inputs) {
    const bool is_folder = std::filesystem::is_directory(input, ignored);
    for (const std::string& file : report::json_files(input)) {
      if (is_folder && !report::begins_as_report(report::beginning_of(file))) {
        write_stderr(fmt::format("passed over: {}: no report\n", escaped(file)));
        continue;
      }
      std::string text = read_input(file, report::kMostReportBytes);
      try {
        all.reports.push_back({file, report::report_from_json(std::move(text), file)});
      } catch (const Error& error) {
        all.checked.push_back({file, {{Code::kUnreadable, "", error.what()}}});
      }
    }
  }
  if (all.reports.empty() && all.checked.empty()) throw report::no_report(inputs);
  for (Checked& each : check_reports(all.reports, report::utc_now())) {
    all.checked.push_back(std::move(each));
  }
  return all;
}

}  // namespace nf4bench::check
