#include "check/check_text.hpp"

#include <algorithm>

namespace nf4bench::check {

text::Sheet check_sheet(const std::vector<Checked>& checked) {
  text::Sheet sheet = {.columns = {{.name = "code"}, {.name = "what it says"}}};
  for (const Checked& report : checked) {
    text::Section& section = sheet.sections.emplace_back();
    section.title = report.name;
    section.aside = report.is_plausible() ? "plausible" : "refused";
    std::vector<Finding> findings = report.findings;
    std::stable_partition(findings.begin(), findings.end(),
                          [](const Finding& finding) { return refuses(finding.code); });
    if (findings.empty()) {
      section.rows.push_back({.cells = {"none", ""}, .message = "nothing in it contradicts it"});
    }
    for (const Finding& finding : findings) {
      text::Row& row = section.rows.emplace_back();
      const std::string where = finding.where.empty() ? "" : finding.where + ": ";
      row.cells = {to_string(finding.code), ""};
      row.message = where + finding.what;
      row.tone = refuses(finding.code) ? text::Tone::kBad : text::Tone::kFaint;
    }
  }
  return sheet;
}

json::JsonText check_json(const std::vector<Checked>& checked) {
  const auto json_of = [](const Finding& finding) {
    return json::json_object({{"code", json::json_string(to_string(finding.code))},
                              {"refuses", json::json_bool(refuses(finding.code))},
                              {"where", json::json_string_or_null(finding.where)},
                              {"what", json::json_string(finding.what)}});
  };
  const auto report_of = [&](const Checked& report) {
    return json::json_object({{"report", json::json_string(report.name)},
                              {"plausible", json::json_bool(report.is_plausible())},
                              {"findings", json::json_array_of(report.findings, json_of)}});
  };
  return json::json_object({{"schema", json::json_string("nf4bench.check")},
                            {"reports", json::json_array_of(checked, report_of)}});
}

}  // namespace nf4bench::check
