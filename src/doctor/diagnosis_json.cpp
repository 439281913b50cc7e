#include "statistics/statistics.hpp"
#include "compare/result/json_parts.hpp"
#include "doctor/diagnosis_text.hpp"

#include <algorithm>

namespace nf4bench {
namespace {

JsonText device_json(const DeviceInfo& device) {
  return json_object({{"id", json_string(device.id)},
                      {"kind", json_string(device.kind == DeviceKind::kCuda ? "cuda" : "cpu")},
                      {"name", json_string(device.name)},
                      {"uuid", json_string_or_null(device.uuid)},
                      {"pci_id", json_string_or_null(device.pci_id)},
                      {"driver", json_string_or_null(device.driver)},
                      {"runtime", json_string_or_null(device.runtime)}});
}

JsonText finding_json(const Finding& finding) {
  return json_object({{"check", json_string(finding.check)},
                      {"severity", json_string(to_string(finding.severity))},
                      {"found", json_string(finding.found)},
                      {"why", json_string(finding.why)},
                      {"remedy", json_string_or_null(finding.remedy)}});
}

JsonText clocks_json(std::vector<double> clocks) {
  if (clocks.empty()) return json_null();
  std::sort(clocks.begin(), clocks.end());
  return json_object({{"min", json_number(clocks.front())},
                      {"p05", json_number(quantile_sorted(clocks, 0.05))},
                      {"median", json_number(quantile_sorted(clocks, 0.5))},
                      {"p95", json_number(quantile_sorted(clocks, 0.95))},
                      {"max", json_number(clocks.back())}});
}

JsonText noise_json(const AaNoise& noise) {
  return json_object({{"relative", json_number(noise.relative)},
                      {"assumed", json_number(noise.assumed)},
                      {"threshold", json_number(noise.threshold)},
                      {"false_alarms", json_number(noise.false_alarms)},
                      {"side_change", json_number(noise.side_change)},
                      {"sides_differ", json_bool(noise.sides_differ)}});
}

JsonText aa_json(const Diagnosis& diagnosis) {
  const AaRun& aa = diagnosis.aa;
  std::vector<double> first;
  std::vector<double> second;
  for (const AaPair& run : aa.runs) {
    first.push_back(run.first_s);
    second.push_back(run.second_s);
  }
  return json_object({{"variant", json_string(aa.variant)},
                      {"shape", json_integers(aa.shape)},
                      {"first_s", json_numbers(first)},
                      {"second_s", json_numbers(second)},
                      {"sm_clock_hz", clocks_json(aa.sm_clock_hz)},
                      {"noise", diagnosis.noise ? noise_json(*diagnosis.noise) : json_null()},
                      {"failure", json_string_or_null(aa.failure)}});
}

}  // namespace

std::string diagnosis_json(const Diagnosis& diagnosis) {
  return json_object({{"schema", json_string(kDoctorSchema)},
                      {"schema_version", json_string(kDoctorSchemaVersion)},
                      {"device", device_json(diagnosis.device)},
                      {"verdict", json_string(verdict_word(diagnosis.worst))},
                      {"findings", json_list(diagnosis.findings, finding_json)},
                      {"aa_run", aa_json(diagnosis)}})
             .text +
         "\n";
}

}  // namespace nf4bench
