#include "doctor/diagnosis_text.hpp"
#include "json/json_text.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>

namespace nf4bench::doctor {
namespace {

json::JsonText device_json(const record::DeviceInfo& device) {
  return json::json_object(
      {{"id", json::json_string(device.id)},
       {"kind", json::json_string(device.kind == record::DeviceKind::kCuda ? "cuda" : "cpu")},
       {"name", json::json_string(device.name)},
       {"uuid", json::json_string_or_null(device.uuid)},
       {"pci_id", json::json_string_or_null(device.pci_id)},
       {"driver", json::json_string_or_null(device.driver)},
       {"runtime", json::json_string_or_null(device.runtime)}});
}

json::JsonText finding_json(const Finding& finding) {
  return json::json_object({{"check", json::json_string(finding.check)},
                            {"severity", json::json_string(to_string(finding.severity))},
                            {"found", json::json_string(finding.found)},
                            {"why", json::json_string(finding.why)},
                            {"remedy", json::json_string_or_null(finding.remedy)}});
}

json::JsonText clocks_json(std::vector<double> clocks) {
  if (clocks.empty()) return json::json_null();
  std::sort(clocks.begin(), clocks.end());
  return json::json_object({{"min", json::json_number(clocks.front())},
                            {"p05", json::json_number(statistics::quantile_sorted(clocks, 0.05))},
                            {"median", json::json_number(statistics::quantile_sorted(clocks, 0.5))},
                            {"p95", json::json_number(statistics::quantile_sorted(clocks, 0.95))},
                            {"max", json::json_number(clocks.back())}});
}

json::JsonText noise_json(const AaNoise& noise) {
  return json::json_object({{"relative", json::json_number(noise.relative)},
                            {"assumed", json::json_number(noise.assumed)},
                            {"threshold", json::json_number(noise.threshold)},
                            {"false_alarms", json::json_number(noise.false_alarms)},
                            {"side_change", json::json_number(noise.side_change)},
                            {"sides_differ", json::json_bool(noise.sides_differ)}});
}

json::JsonText aa_json(const Diagnosis& diagnosis) {
  const AaRun& aa = diagnosis.aa;
  std::vector<double> first;
  std::vector<double> second;
  for (const AaPair& run : aa.runs) {
    first.push_back(run.first_s);
    second.push_back(run.second_s);
  }
  return json::json_object(
      {{"variant", json::json_string(aa.variant)},
       {"shape", json::json_integers(aa.shape)},
       {"first_s", json::json_numbers(first)},
       {"second_s", json::json_numbers(second)},
       {"sm_clock_hz", clocks_json(aa.sm_clock_hz)},
       {"noise", diagnosis.noise ? noise_json(*diagnosis.noise) : json::json_null()},
       {"failure", json::json_string_or_null(aa.failure)}});
}

json::JsonText optional_number(std::optional<double> value) {
  return value ? json::json_number(*value) : json::json_null();
}

template <class Integer>
json::JsonText optional_integer(std::optional<Integer> value) {
  return value ? json::json_integer(static_cast<std::int64_t>(*value)) : json::json_null();
}

json::JsonText pcie_json(const GpuState& gpu) {
  return json::json_object({{"generation", optional_integer(gpu.pcie_generation)},
                            {"lanes", optional_integer(gpu.pcie.width)},
                            {"card_generation", optional_integer(gpu.pcie.card_generation)},
                            {"card_lanes", optional_integer(gpu.pcie.card_width)}});
}

json::JsonText nvlinks_json(const device::NvLinks& links) {
  return json::json_object({{"active", json::json_integer(links.active)},
                            {"present", json::json_integer(links.present)}});
}

json::JsonText gpu_json(const GpuState& gpu) {
  return json::json_object(
      {{"temperature_c", optional_number(gpu.temperature_c)},
       {"sm_clock_hz", optional_number(gpu.sm_clock_hz)},
       {"max_sm_clock_hz", optional_number(gpu.max_sm_clock_hz)},
       {"memory_clock_hz", optional_number(gpu.memory_clock_hz)},
       {"throttle_reasons",
        gpu.throttle_reasons ? json::json_strings(*gpu.throttle_reasons) : json::json_null()},
       {"ecc", json::json_string_or_null(word_of(gpu.ecc))},
       {"uncorrected_errors", optional_integer(gpu.uncorrected_errors)},
       {"remapped_rows", optional_integer(gpu.remapped_rows)},
       {"pcie", pcie_json(gpu)},
       {"nvlinks", gpu.nvlinks ? nvlinks_json(*gpu.nvlinks) : json::json_null()},
       {"mig", json::json_string_or_null(word_of(gpu.mig))}});
}

json::JsonText document(const Diagnosis& diagnosis) {
  return json::json_object({{"schema", json::json_string(kDoctorSchema)},
                            {"schema_version", json::json_string(kDoctorSchemaVersion)},
                            {"device", device_json(diagnosis.device)},
                            {"verdict", json::json_string(verdict_word(diagnosis.worst))},
                            {"findings", json::json_array_of(diagnosis.findings, finding_json)},
                            {"gpu", diagnosis.gpu ? gpu_json(*diagnosis.gpu) : json::json_null()},
                            {"aa_run", aa_json(diagnosis)}});
}

}  // namespace

std::string diagnosis_json(const Diagnosis& diagnosis) {
  return document(diagnosis).text + "\n";
}

std::string devices_json(const std::vector<Diagnosis>& diagnoses) {
  return json::json_array_of(diagnoses, document).text + "\n";
}

}  // namespace nf4bench::doctor
