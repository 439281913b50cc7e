#pragma once

#include "base/words.hpp"
#include "doctor/aa_run.hpp"
#include "doctor/facts.hpp"
#include "doctor/gpu_state.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace nf4bench::doctor {

// How much a finding says against a measurement. The order matters: later is worse.
enum class Severity : std::uint8_t {
  kOk,         // as it should be
  kNote,       // good to know, or not known
  kWarning,    // times may be off, or not the same tomorrow
  kWorthless,  // a gate run here decides nothing
};

constexpr auto words(Severity /*any*/) {
  using enum Severity;
  return std::to_array<Word<Severity>>(
      {{kOk, "ok"}, {kNote, "note"}, {kWarning, "warning"}, {kWorthless, "worthless"}});
}

// What one check found.
struct Finding {
  std::string check;  // "clocks": a word that stays the same in all versions
  Severity severity = Severity::kOk;
  std::string found;   // one sentence without its full stop
  std::string why;     // it matters
  std::string remedy;  // a command, or what else to do; empty when nothing needs to be done
};

// The checks, one for each subject. Each is a pure function of the facts that it judges.

// noise_check.cpp; `noise` is absent when the variant could not be measured.
Finding check_noise(const AaRun& aa, const std::optional<AaNoise>& noise);

// gpu_checks.cpp: what happens on a GPU. `pci_id` is for the remedies.
Finding check_clocks(const GpuConditions& gpu, const AaRun& aa, const std::string& pci_id);
Finding check_throttling(const GpuConditions& gpu, const AaRun& aa, const std::string& pci_id);
Finding check_processes(const GpuConditions& gpu, const std::string& pci_id);

// gpu_setup_checks.cpp: how a GPU and its driver are set up.
Finding check_management(const device::GpuCondition& gpu);
Finding check_power_cap(const device::GpuCondition& gpu, const std::string& pci_id);
Finding check_persistence(const device::GpuCondition& gpu, const std::string& pci_id);
Finding check_ecc(const device::GpuCondition& gpu, const std::string& pci_id);
Finding check_mig(const device::GpuCondition& gpu, const std::string& pci_id);
Finding check_pcie(const GpuState& gpu);
Finding check_nvlink(const device::GpuCondition& gpu, const std::string& pci_id);
Finding check_driver(const device::DriverFacts& driver, const record::DeviceInfo& device);
Finding check_architectures(const std::string& architectures, const record::DeviceInfo& device);
Finding check_counters(const device::CounterAccess& access);

// The same file; absent where `kernel` is not that of WSL 2.
std::optional<Finding> check_wsl(const std::string& kernel);

// cpu_checks.cpp: what happens on the processors of the CPU device.
Finding check_load(const CpuConditions& cpu);
Finding check_stolen_time(const CpuConditions& cpu);
Finding check_cpu_limit(const CpuConditions& cpu);
Finding check_cpu_clocks(const CpuConditions& cpu);

// The same file: how they are set up.
Finding check_governor(const CpuSetup& setup);
Finding check_boost(const CpuSetup& setup);
Finding check_smt(const CpuSetup& setup, int threads);
Finding check_virtual_machine(const CpuSetup& setup);
Finding check_missing_cuda(const DoctorFacts& facts);

// What a check begins with: all is as it should be.
inline Finding fine(const char* check, const char* found, const char* why) {
  return {check, Severity::kOk, found, why, ""};
}

// What a finding says about a fact that cannot be read.
inline constexpr char kUnknown[] = "unknown";
inline Finding unknown(Finding finding) {
  finding.severity = Severity::kNote;
  finding.found = kUnknown;
  return finding;
}

// How much clocks may differ. That of a GPU in a short sample is only known to about the first
// share: it comes from a counter that ticks once a microsecond, and a sample may last as little as
// 100 microseconds. The second is that of a run's "throttled" (record/samples.hpp).
inline constexpr double kSteadyClocks = 0.01;
inline constexpr double kMovingClocks = 0.05;

}  // namespace nf4bench::doctor
