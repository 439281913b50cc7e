#include "doctor/diagnosis_text.hpp"

#include "doctor/findings_sheet.hpp"
#include "text/layout.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>

namespace nf4bench::doctor {
namespace {

void append_findings(text::Page& page, const Diagnosis& diagnosis, Severity least) {
  const record::DeviceInfo& device = diagnosis.device;
  std::string heading = fmt::format("{}: {}", device.id, text::fitted(device.name, 60));
  if (!device.driver.empty()) heading += ", driver " + text::fitted(device.driver, 40);
  if (!device.runtime.empty()) heading += ", CUDA runtime " + device.runtime;
  page.line(heading, text::Tone::kHeading);
  page.blank();
  page.table(findings_sheet(diagnosis.findings, least));
  page.blank();
}

text::Tone tone_of(Severity worst) {
  return worst == Severity::kWorthless ? text::Tone::kBad
         : worst == Severity::kWarning ? text::Tone::kDoubt
                                       : text::Tone::kGood;
}

}  // namespace

std::string diagnosis_table(const Diagnosis& diagnosis, const text::Style& style) {
  text::Page page(style);
  append_findings(page, diagnosis, Severity::kOk);
  page.line("verdict: " + verdict_line(diagnosis), tone_of(diagnosis.worst));
  return page.take();
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  const text::Sheet sheet = devices_sheet({diagnosis});
  return json_row(sheet.columns, sheet.sections.front().rows.front()).text + "\n";
}

std::string devices_table(const std::vector<Diagnosis>& diagnoses, const text::Style& style) {
  text::Page page(style);
  page.table(devices_sheet(diagnoses));
  page.blank();
  for (const Diagnosis& each : diagnoses) {
    if (each.worst >= Severity::kWarning) append_findings(page, each, Severity::kWarning);
  }
  return page.take();
}

std::string devices_json(const std::vector<Diagnosis>& diagnoses) {
  return json_rows(devices_sheet(diagnoses)).text + "\n";
}

}  // namespace nf4bench::doctor
