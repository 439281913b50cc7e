#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "page/page.hpp"
#include "record/samples.hpp"
#include "report/tables.hpp"
#include "text/document.hpp"
#include "text/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace nf4bench::exports {
namespace {

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

// With more samples than these, some 2 MB of text, a page does without them.
constexpr std::size_t kMostSamples = 50'000;

std::size_t count_samples(const record::Report& report) {
  std::size_t count = 0;
  for (const record::Measurement& m : report.measurements) count += m.samples_s.size();
  return count;
}

std::string json_without_samples(record::Report report) {
  for (record::Measurement& m : report.measurements) record::leave_out_samples(m);
  return report::to_json(report);
}

// The tables of a report, and what has to be known of them.
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
  const report::Summaries all = report::summarize_variants(report);
  for (text::Sheet& sheet : report::model_sheets(report, all)) document.table(std::move(sheet));
  document.table(report::training_sheet(report, all));
  for (const std::string& warning : report.warnings) {
    document.item("warning", text::fitted(warning, 400));
  }
  return document;
}

}  // namespace

void to_markdown(const record::Report& report, const json::TextSink& sink) {
  sink(text::markdown(document_of(report)));
}

void to_html(const record::Report& report, const json::TextSink& sink) {
  page::write_page({.title = report.device.name,
                    .json = count_samples(report) > kMostSamples ? json_without_samples(report)
                                                                 : report::to_json(report),
                    .tables = text::html(document_of(report))},
                   sink);
}

}  // namespace nf4bench::exports
