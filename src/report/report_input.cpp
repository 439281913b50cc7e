#include "report/report_input.hpp"

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"

#include <new>

namespace nf4bench::report {

NamedReport read_report(const std::string& path) {
  try {
    return {.name = path, .report = report_from_json(read_input(path, kMostReportBytes), path)};
  } catch (const std::bad_alloc&) {
    throw input_error(escaped(path), "needs more memory than there is");
  }
}

std::vector<NamedReport> read_reports(const std::vector<std::string>& paths) {
  std::vector<NamedReport> reports;
  reports.reserve(paths.size());
  for (const std::string& path : paths) reports.push_back(read_report(path));
  return reports;
}

}  // namespace nf4bench::report
