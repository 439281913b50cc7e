#include "base/text.hpp"
#include "doctor/diagnosis_text.hpp"
#include "doctor/findings_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::doctor {
namespace {

constexpr std::size_t kLongestText = 4096;

text::Tone tone_of(Severity severity) {
  switch (severity) {
    case Severity::kWorthless:
      return text::Tone::kBad;
    case Severity::kWarning:
      return text::Tone::kDoubt;
    case Severity::kNote:
    case Severity::kOk:
      break;
  }
  return text::Tone::kPlain;
}

std::string heading(const record::DeviceInfo& device) {
  std::string text = fmt::format("{}: {}", device.id, escaped(device.name, 60));
  if (!device.driver.empty()) text += fmt::format(", driver {}", escaped(device.driver, 40));
  if (!device.runtime.empty()) text += fmt::format(", CUDA runtime {}", device.runtime);
  return text;
}

// Columns before the text of a finding: severity and check.
struct Margins {
  std::size_t severity = 0;
  std::size_t check = 0;

  int text() const { return static_cast<int>(severity + check + 4); }
};

Margins margins_of(const std::vector<Finding>& findings) {
  Margins margins;
  for (const Finding& finding : findings) {
    margins.severity = std::max(margins.severity, std::string(to_string(finding.severity)).size());
    margins.check = std::max(margins.check, finding.check.size());
  }
  return margins;
}

// The text in its own column, beside severity and check. Bad findings come with a reason. Remedies
// are on one line, so that they can be copied.
void append_finding(report::TablePage& page, const Finding& finding, const Margins& margins) {
  const std::string label = fmt::format("{:<{}}  {:<{}}  ", to_string(finding.severity),
                                        margins.severity, finding.check, margins.check);
  std::vector<std::string> lines =
      text::wrapped(escaped(finding.found, kLongestText), page.width(), margins.text());
  lines.front().replace(0, label.size(), label);
  for (const std::string& line : lines) page.line(line, tone_of(finding.severity));
  const std::string indent(static_cast<std::size_t>(margins.text()), ' ');
  if (finding.severity >= Severity::kWarning) {
    for (const std::string& line :
         text::wrapped("why: " + finding.why, page.width(), margins.text())) {
      page.line(line);
    }
  }
  if (!finding.remedy.empty()) page.line(indent + "fix: " + finding.remedy);
}

}  // namespace

void append_findings(report::TablePage& page, const record::DeviceInfo& device,
                     const std::vector<Finding>& findings) {
  page.line(heading(device), text::Tone::kHeading);
  page.blank();
  const Margins margins = margins_of(findings);
  for (const Finding& finding : findings) append_finding(page, finding, margins);
  page.blank();
}

std::string diagnosis_table(const Diagnosis& diagnosis, const report::TableStyle& style) {
  report::TablePage page(style);
  append_findings(page, diagnosis.device, diagnosis.findings);
  page.line("verdict: " + verdict_line(diagnosis),
            diagnosis.worst <= Severity::kNote ? text::Tone::kGood : tone_of(diagnosis.worst));
  return page.take();
}

}  // namespace nf4bench::doctor
