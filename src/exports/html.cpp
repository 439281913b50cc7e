#include "exports/document.hpp"
#include "exports/export.hpp"
#include "page/page.hpp"
#include "record/sample_digest.hpp"

#include <cstddef>
#include <string>

namespace nf4bench::exports {
namespace {

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

}  // namespace

void to_html(const record::Report& report, const json::TextSink& sink) {
  page::write_page({.title = report.device.name,
                    .json = count_samples(report) > kMostSamples ? json_without_samples(report)
                                                                 : report::to_json(report),
                    .tables = text::html(document_of(report))},
                   sink);
}

}  // namespace nf4bench::exports
