#include "doctor/diagnosis.hpp"

#include "doctor/checks/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace nf4bench::doctor {
namespace {

std::vector<Finding> check_gpu(const DoctorFacts& facts, const GpuConditions& gpu) {
  const std::string& pci_id = facts.device.pci_id;
  std::vector<Finding> findings = {check_clocks(gpu, facts.aa, pci_id)};
  if (!gpu.before.problem.empty()) {
    findings.push_back(check_management(gpu.before));
  } else {
    findings.push_back(check_throttling(gpu, facts.aa, pci_id));
    findings.push_back(check_processes(gpu, pci_id));
    findings.push_back(check_power_cap(gpu.before, pci_id));
    findings.push_back(check_persistence(gpu.before, pci_id));
    findings.push_back(check_ecc(gpu.before, pci_id));
    findings.push_back(check_mig(gpu.before, pci_id));
    findings.push_back(check_pcie(gpu_state(gpu)));
    findings.push_back(check_nvlink(gpu.before, pci_id));
  }
  findings.push_back(check_driver(facts.driver, facts.device));
  findings.push_back(check_architectures(facts.architectures, facts.device));
  findings.push_back(check_counters(facts.counters));
  return findings;
}

std::vector<Finding> check_cpu(const CpuConditions& cpu) {
  return {check_load(cpu),
          check_stolen_time(cpu),
          check_cpu_limit(cpu),
          check_cpu_clocks(cpu),
          check_governor(cpu.setup),
          check_boost(cpu.setup),
          check_smt(cpu.setup, cpu.threads),
          check_virtual_machine(cpu.setup)};
}

void append(std::vector<Finding>& findings, std::vector<Finding> more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

}  // namespace

Diagnosis diagnose(const DoctorFacts& facts) {
  Diagnosis diagnosis;
  diagnosis.device = facts.device;
  diagnosis.aa = facts.aa;
  if (facts.aa.failure.empty() && facts.aa.runs.size() >= 2) {
    diagnosis.noise = aa_noise(
        facts.aa.runs, compare::measured_noise(facts.device.kind, compare::Spread::kOneDevice));
  }
  diagnosis.findings = {check_noise(facts.aa, diagnosis.noise)};
  if (facts.gpu) {
    diagnosis.gpu = gpu_state(*facts.gpu);
    append(diagnosis.findings, check_gpu(facts, *facts.gpu));
  }
  if (facts.cpu) append(diagnosis.findings, check_cpu(*facts.cpu));
  if (auto wsl = check_wsl(facts.kernel)) diagnosis.findings.push_back(std::move(*wsl));
  if (!facts.cuda_problem.empty()) diagnosis.findings.push_back(check_missing_cuda(facts));
  std::ranges::stable_sort(diagnosis.findings, std::greater(), &Finding::severity);
  diagnosis.worst = diagnosis.findings.front().severity;
  return diagnosis;
}

Diagnosis without_facts(const record::DeviceInfo& device, const std::string& problem) {
  Diagnosis diagnosis;
  diagnosis.device = device;
  diagnosis.aa.failure = problem;
  diagnosis.findings = {{.check = "device",
                         .severity = Severity::kWorthless,
                         .found = problem,
                         .why = "a GPU that cannot be used can measure nothing",
                         .remedy = "nvidia-smi -L; dmesg | grep -i -e nvrm -e xid"}};
  diagnosis.worst = Severity::kWorthless;
  return diagnosis;
}

const char* verdict_word(Severity worst) {
  if (worst == Severity::kWorthless) return "worthless";
  return worst == Severity::kWarning ? "doubtful" : "fit";
}

std::string verdict_line(const Diagnosis& diagnosis) {
  std::vector<std::string> checks;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.severity == diagnosis.worst) checks.push_back(finding.check);
  }
  const std::string list = fmt::format("{}", fmt::join(checks, ", "));
  switch (diagnosis.worst) {
    case Severity::kWorthless:
      return fmt::format("worthless: a gate run on {} would decide nothing ({})",
                         diagnosis.device.id, list);
    case Severity::kWarning:
      return fmt::format("doubtful: a gate run on {} may be off ({})", diagnosis.device.id, list);
    case Severity::kNote:
    case Severity::kOk:
      break;
  }
  return fmt::format("fit: nothing here speaks against a gate run on {}", diagnosis.device.id);
}

}  // namespace nf4bench::doctor
