#include "exports/document.hpp"
#include "exports/export.hpp"
#include "report/tables.hpp"
#include "text/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::exports {
namespace {

constexpr int kLongestText = 120;

std::string fitted(const std::string& text) {
  return text::fitted(text, kLongestText);
}

// Where there is nothing but failures the tables have no time at all: said before them.
std::string outcome_of(const record::Report& report) {
  const auto has_failed = [](const record::Measurement& m) {
    return m.status == record::Status::kFailed || m.status == record::Status::kInvalid;
  };
  const auto failed = std::ranges::count_if(report.measurements, has_failed);
  if (failed == 0) return "";
  return failed == std::ssize(report.measurements)
             ? fmt::format("All {} measurements FAILED: there is no time to show.", failed)
             : fmt::format("{} of {} measurements FAILED.", failed, report.measurements.size());
}

}  // namespace

text::Document document_of(const record::Report& report) {
  text::Document document;
  document.title(fmt::format("nf4bench: {}{}", fitted(report.device.name),
                             report.complete ? "" : " (incomplete)"));
  document.paragraph(fmt::format("baseline {}, {}, nf4bench {}",
                                 fitted(report::baselines_of(report.settings)),
                                 fitted(report.started_at), fitted(report.tool.version)));
  for (const std::string& each : {outcome_of(report), report::doubt_of_times(report)}) {
    if (!each.empty()) document.paragraph(each);
  }
  for (text::Sheet& sheet : report::result_sheets(report)) document.table(std::move(sheet));
  for (text::Sheet& sheet : report::model_sheets(report)) document.table(std::move(sheet));
  for (const std::string& warning : report.warnings) {
    document.item("warning", text::fitted(warning, 400));
  }
  return document;
}

void to_markdown(const record::Report& report, const json::TextSink& sink) {
  sink(text::markdown(document_of(report)));
}

}  // namespace nf4bench::exports
