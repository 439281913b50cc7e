#include "report/report.hpp"

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "text/layout.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::string cell_words(const record::Cell& cell) {
  std::string words = cell.operation == record::kDequantize ? "" : cell.operation + ' ';
  words += to_string(cell.output_type);
  if (cell.tokens > 0) words += ' ' + text::format_count(cell.tokens, "token");
  return fmt::format("{} {} {}", words, to_string(cell.cache), to_string(cell.launch));
}

const char* short_name(nf4::OutputType type) {
  return type == nf4::OutputType::kFloat16    ? "fp16"
         : type == nf4::OutputType::kBfloat16 ? "bf16"
                                              : "fp32";
}

std::string operation_prefix(const record::Cell& cell) {
  return cell.operation == record::kDequantize ? "" : text::fitted(cell.operation, 30) + "  ";
}

std::string cell_name(const record::Cell& cell) {
  const std::string tokens =
      cell.tokens > 0 ? text::format_count(cell.tokens, "token") + "  " : std::string();
  return fmt::format("{}{}  {}{} {}", operation_prefix(cell), short_name(cell.output_type), tokens,
                     to_string(cell.cache), to_string(cell.launch));
}

std::string baselines_of(const record::Settings& settings) {
  if (settings.operations.size() < 2) return settings.baseline;
  std::vector<std::string> baselines;
  for (const record::MeasuredOperation& each : settings.operations) {
    baselines.push_back(each.name + ' ' + (each.baseline.empty() ? "none" : each.baseline));
  }
  return fmt::format("{}", fmt::join(baselines, ", "));
}

}  // namespace nf4bench::report
