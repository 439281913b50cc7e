#include "doctor/fake_nvml.hpp"

#include <algorithm>
#include <cstring>

#define EXPORTED __attribute__((visibility("default")))

namespace nf4bench::test {

EXPORTED FakeGpu& fake_gpu() {
  static FakeGpu gpu;
  return gpu;
}

}  // namespace nf4bench::test

namespace {

using nf4bench::test::fake_gpu;
using nf4bench::test::FakeProcess;

// Laid out as in nvml.h of CUDA 12 and 13.
struct ProcessInfo {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

struct ViolationTime {
  unsigned long long referenceTime;
  unsigned long long violationTime;
};

constexpr int kInvalidArgument = 2;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

template <class Function>
int answer(const char* name, Function function) {
  const auto& failures = fake_gpu().failures;
  const auto failure = failures.find(name);
  if (failure != failures.end()) return failure->second;
  return function();
}

int give(const char* name, unsigned value, unsigned* target) {
  return answer(name, [&] {
    *target = value;
    return 0;
  });
}

int list(const char* name, const std::vector<FakeProcess>& processes, unsigned* count,
         ProcessInfo* infos) {
  return answer(name, [&] {
    const unsigned room = *count;
    *count = static_cast<unsigned>(processes.size());
    if (room < processes.size()) return kInsufficientSize;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      infos[i] = {processes[i].pid, processes[i].memory, 0xffffffff, 0xffffffff};
    }
    return 0;
  });
}

}  // namespace

extern "C" {

EXPORTED int nvmlInit_v2() {
  return answer("nvmlInit_v2", [] {
    ++fake_gpu().started;
    return 0;
  });
}

EXPORTED int nvmlShutdown() {
  --fake_gpu().started;
  return 0;
}

EXPORTED int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  if (std::strcmp(id, "0000:3b:00.0") != 0) return kNotFound;
  *device = &fake_gpu();
  return 0;
}

EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) {
  return give("nvmlDeviceGetCount_v2", 1, count);
}

EXPORTED int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  return answer("nvmlSystemGetDriverVersion", [&] {
    std::strncpy(text, "580.159.04", length);
    return 0;
  });
}

EXPORTED int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return answer("nvmlSystemGetCudaDriverVersion_v2", [&] {
    *version = fake_gpu().cuda_version;
    return 0;
  });
}

EXPORTED int nvmlSystemGetProcessName(unsigned pid, char* text, unsigned length) {
  std::vector<FakeProcess> all = fake_gpu().computing;
  all.insert(all.end(), fake_gpu().drawing.begin(), fake_gpu().drawing.end());
  const auto found = std::ranges::find(all, pid, &FakeProcess::pid);
  if (found == all.end() || found->name.empty()) return kNotFound;
  std::strncpy(text, found->name.c_str(), length);
  return 0;
}

EXPORTED int nvmlDeviceGetClockInfo(void*, int type, unsigned* clock) {
  if (type != 1 && type != 2) return kInvalidArgument;  // SM, memory
  return give("nvmlDeviceGetClockInfo", type == 1 ? fake_gpu().sm_clock : fake_gpu().memory_clock,
              clock);
}

EXPORTED int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* clock) {
  if (type != 1) return kInvalidArgument;
  return give("nvmlDeviceGetMaxClockInfo", fake_gpu().max_sm_clock, clock);
}

EXPORTED int nvmlDeviceGetUtilizationRates(void*, Utilization* rates) {
  return answer("nvmlDeviceGetUtilizationRates", [&] {
    *rates = {fake_gpu().busy, 0};
    return 0;
  });
}

EXPORTED int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  return answer("nvmlDeviceGetCurrentClocksEventReasons", [&] {
    *reasons = fake_gpu().reasons;
    return 0;
  });
}

EXPORTED int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* limit) {
  return give("nvmlDeviceGetEnforcedPowerLimit", fake_gpu().power_limit, limit);
}

EXPORTED int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned* limit) {
  return give("nvmlDeviceGetPowerManagementDefaultLimit", fake_gpu().default_power_limit, limit);
}

EXPORTED int nvmlDeviceGetPersistenceMode(void*, unsigned* mode) {
  return give("nvmlDeviceGetPersistenceMode", fake_gpu().persistence, mode);
}

EXPORTED int nvmlDeviceGetEccMode(void*, unsigned* current, unsigned* pending) {
  *pending = fake_gpu().ecc_pending;
  return give("nvmlDeviceGetEccMode", fake_gpu().ecc, current);
}

EXPORTED int nvmlDeviceGetTotalEccErrors(void*, int type, int counter, unsigned long long* count) {
  if (type != 1 || counter != 0) return kInvalidArgument;  // uncorrected, volatile
  *count = fake_gpu().ecc_errors;
  return 0;
}

EXPORTED int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected,
                                       unsigned* pending, unsigned* failed) {
  *corrected = fake_gpu().remapped_corrected;
  *uncorrected = fake_gpu().remapped_uncorrected;
  *pending = fake_gpu().remapping_pending;
  *failed = fake_gpu().remapping_failed;
  return 0;
}

EXPORTED int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* energy) {
  return answer("nvmlDeviceGetTotalEnergyConsumption", [&] {
    *energy = fake_gpu().energy;
    return 0;
  });
}

EXPORTED int nvmlDeviceGetTemperature(void*, int sensor, unsigned* temperature) {
  if (sensor != 0) return kInvalidArgument;
  return give("nvmlDeviceGetTemperature", fake_gpu().temperature, temperature);
}

EXPORTED int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
  return give("nvmlDeviceGetCurrPcieLinkGeneration", fake_gpu().pcie_generation, generation);
}

EXPORTED int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
  return give("nvmlDeviceGetMaxPcieLinkGeneration", fake_gpu().pcie_most_generation, generation);
}

EXPORTED int nvmlDeviceGetGpuMaxPcieLinkGeneration(void*, unsigned* generation) {
  return give("nvmlDeviceGetGpuMaxPcieLinkGeneration", fake_gpu().pcie_card_generation, generation);
}

EXPORTED int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* width) {
  return give("nvmlDeviceGetCurrPcieLinkWidth", fake_gpu().pcie_width, width);
}

EXPORTED int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
  return give("nvmlDeviceGetMaxPcieLinkWidth", fake_gpu().pcie_most_width, width);
}

EXPORTED int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  if (link >= fake_gpu().nvlinks.size()) return kInvalidArgument;
  return answer("nvmlDeviceGetNvLinkState", [&] {
    *active = static_cast<int>(fake_gpu().nvlinks[link]);
    return 0;
  });
}

EXPORTED int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *pending = fake_gpu().mig;
  return give("nvmlDeviceGetMigMode", fake_gpu().mig, current);
}

EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  return list("nvmlDeviceGetComputeRunningProcesses_v3", fake_gpu().computing, count, infos);
}

EXPORTED int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  return list("nvmlDeviceGetGraphicsRunningProcesses_v3", fake_gpu().drawing, count, infos);
}

EXPORTED int nvmlDeviceGetViolationStatus(void*, int policy, ViolationTime* time) {
  if (policy != 0 && policy != 1) return kInvalidArgument;  // power, heat
  return answer("nvmlDeviceGetViolationStatus", [&] {
    *time = {0, policy == 0 ? fake_gpu().slowed_by_power : fake_gpu().slowed_by_heat};
    return 0;
  });
}

}  // extern "C"
