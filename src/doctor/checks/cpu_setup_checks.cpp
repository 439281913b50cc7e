#include "doctor/checks/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::doctor {
namespace {

// Governors under which the clock does not follow the load.
bool holds_clock(const std::string& governor) {
  return governor == "performance" || governor == "userspace";
}

}  // namespace

Finding check_governor(const CpuSetup& setup) {
  Finding finding = {"governor", Severity::kOk, "",
                     "a governor that follows the load starts every run at a low clock", ""};
  if (setup.governors.empty()) {
    finding = unknown(finding);
    finding.found = "unknown: the system shows no frequency scaling";
    return finding;
  }
  std::vector<std::string> parts;
  for (const auto& [governor, count] : setup.governors) {
    parts.push_back(fmt::format("{} on {}", governor, count));
    if (!holds_clock(governor)) finding.severity = Severity::kWarning;
  }
  finding.found =
      fmt::format("{} of {} processors{}", fmt::join(parts, ", "), setup.processors,
                  setup.scaling_driver.empty() ? "" : " (" + setup.scaling_driver + ")");
  if (finding.severity != Severity::kOk) {
    finding.remedy = "sudo cpupower frequency-set --governor performance";
  }
  return finding;
}

Finding check_boost(const CpuSetup& setup) {
  Finding finding = {"boost", Severity::kOk, "off",
                     "clocks above the nominal one come and go with heat and with the number of "
                     "busy cores",
                     ""};
  if (!setup.boost) return unknown(finding);
  if (*setup.boost) {
    finding.severity = Severity::kNote;
    finding.found = "on";
    finding.remedy =
        setup.boost_is_intel
            ? "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo  # undo: 0"
            : "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost  # undo: 1";
  }
  return finding;
}

Finding check_smt(const CpuSetup& setup, int threads) {
  Finding finding = {"smt", Severity::kOk, "off",
                     "two threads on one core share its units: which ones do decides the time", ""};
  if (!setup.smt) return unknown(finding);
  if (!*setup.smt) return finding;
  finding.found = fmt::format("on: {} threads on {} cores", threads,
                              setup.cores ? fmt::format("{}", *setup.cores) : kUnknown);
  finding.severity = Severity::kNote;
  if (setup.cores && threads > *setup.cores) {
    finding.remedy = fmt::format("OMP_PLACES=cores nf4bench run --threads {} ...", *setup.cores);
  }
  return finding;
}

Finding check_virtual_machine(const CpuSetup& setup) {
  Finding finding = {"virtual_machine", Severity::kOk, "no",
                     "its host and its neighbours are not to be seen from here", ""};
  if (!setup.virtual_machine) return unknown(finding);
  if (*setup.virtual_machine) {
    finding.severity = Severity::kNote;
    finding.found = "yes: neighbours on the host are not seen from here";
  }
  return finding;
}

Finding check_missing_cuda(const DoctorFacts& facts) {
  Finding finding = {"cuda", Severity::kNote, "no GPU was examined: " + facts.cuda_problem,
                     "kernels of GPUs are measured on GPUs only", ""};
  if (facts.driver.gpus.value_or(0) == 0) return finding;
  finding.severity = Severity::kWarning;
  finding.found =
      fmt::format("the driver {} sees {} GPU{}, but: {}", facts.driver.version, *facts.driver.gpus,
                  *facts.driver.gpus == 1 ? "" : "s", facts.cuda_problem);
  finding.remedy = facts.architectures.empty()
                       ? "cmake -B build -DNF4BENCH_CUDA=ON && cmake --build build"
                       : "nvidia-smi  # it shows the driver and the newest CUDA that it serves";
  return finding;
}

}  // namespace nf4bench::doctor
