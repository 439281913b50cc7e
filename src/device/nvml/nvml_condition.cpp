#include "device/nvml/nvml.hpp"
#include "device/nvml/nvml_library.hpp"

#include <algorithm>
#include <array>

namespace nf4bench::device {
namespace {

// nvmlProcessInfo_t as the functions of version 3 fill it in.
struct ProcessInfo {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

// nvmlUtilization_t: percent.
struct Utilization {
  unsigned gpu = 0;
  unsigned memory = 0;
};

// nvmlViolationTime_t: microseconds, nanoseconds.
struct ViolationTime {
  unsigned long long reference = 0;
  unsigned long long violation = 0;
};

constexpr int kPowerPolicy = 0;    // nvmlPerfPolicyType_t
constexpr int kThermalPolicy = 1;  //
constexpr int kUncorrected = 1;    // nvmlMemoryErrorType_t
constexpr int kVolatile = 0;       // nvmlEccCounterType_t
constexpr unsigned kMostProcesses = 4096;

GpuSetting setting(unsigned value) {
  return value == 0 ? GpuSetting::kOff : GpuSetting::kOn;
}

struct Mode {
  GpuSetting current = GpuSetting::kUnknown;
  GpuSetting pending = GpuSetting::kUnknown;
};

// `Library` is Nvml's own; templates may name it where other functions may not.
template <class Library>
Mode mode(const Library& library, const char* name) {
  unsigned current = 0;
  unsigned pending = 0;
  const int status = library.status(name, library.device, &current, &pending);
  if (status == Library::kNotSupported) {
    return {GpuSetting::kUnsupported, GpuSetting::kUnsupported};
  }
  if (status != Library::kSuccess) return {};
  return {setting(current), setting(pending)};
}

template <class Library>
std::optional<double> violation_s(const Library& library, int policy) {
  ViolationTime time;
  if (!library.call("nvmlDeviceGetViolationStatus", library.device, policy, &time)) {
    return std::nullopt;
  }
  return static_cast<double>(time.violation) * 1e-9;
}

template <class Library>
GpuProcess describe(const Library& library, const ProcessInfo& info) {
  GpuProcess process;
  process.pid = info.pid;
  std::array<char, 256> name = {};
  if (library.call("nvmlSystemGetProcessName", info.pid, name.data(),
                   static_cast<unsigned>(name.size() - 1))) {
    process.name = name.data();
  }
  if (info.used_memory != ~0ULL) {
    process.memory_bytes = static_cast<std::int64_t>(info.used_memory);
  }
  return process;
}

// The processes that one of NVML's two lists names.
template <class Library>
std::optional<std::vector<GpuProcess>> processes_in(const Library& library, const char* name) {
  std::vector<ProcessInfo> infos(64);
  int status = Library::kInsufficientSize;
  while (status == Library::kInsufficientSize && infos.size() <= kMostProcesses) {
    auto count = static_cast<unsigned>(infos.size());
    status = library.status(name, library.device, &count, infos.data());
    if (status == Library::kInsufficientSize) {
      infos.resize(2 * infos.size());
    } else {
      infos.resize(count);
    }
  }
  if (status != Library::kSuccess) return std::nullopt;
  std::vector<GpuProcess> found;
  found.reserve(infos.size());
  for (const ProcessInfo& info : infos) found.push_back(describe(library, info));
  return found;
}

// Adds those that are not in `known` yet: a process may compute and draw.
void add_new(std::optional<std::vector<GpuProcess>>& known,
             const std::optional<std::vector<GpuProcess>>& more) {
  if (!known || !more) return;
  for (const GpuProcess& process : *more) {
    const auto is_same = [&](const GpuProcess& other) { return other.pid == process.pid; };
    if (std::ranges::none_of(*known, is_same)) known->push_back(process);
  }
}

template <class Library>
void add_memory_health(const Library& library, GpuCondition& condition) {
  unsigned long long errors = 0;
  if (library.call("nvmlDeviceGetTotalEccErrors", library.device, int{kUncorrected}, int{kVolatile},
                   &errors)) {
    condition.uncorrected_errors = errors;
  }
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (library.call("nvmlDeviceGetRemappedRows", library.device, &corrected, &uncorrected, &pending,
                   &failed)) {
    condition.remapped_rows = std::int64_t{corrected} + uncorrected;
    condition.remapping_pending = pending != 0;
    condition.remapping_failed = failed != 0;
  }
}

template <class Library>
std::optional<int> number(const Library& library, const char* name) {
  unsigned value = 0;
  if (!library.call(name, library.device, &value)) return std::nullopt;
  return static_cast<int>(value);
}

template <class Library>
PcieLink pcie_link(const Library& library) {
  return {.width = number(library, "nvmlDeviceGetCurrPcieLinkWidth"),
          .card_width = number(library, "nvmlDeviceGetMaxPcieLinkWidth"),
          .card_generation = number(library, "nvmlDeviceGetGpuMaxPcieLinkGeneration"),
          .most_generation = number(library, "nvmlDeviceGetMaxPcieLinkGeneration")};
}

// A GPU says how many links it has by refusing the first that it has not.
template <class Library>
std::optional<NvLinks> nvlinks(const Library& library) {
  constexpr unsigned kMostLinks = 64;
  NvLinks links;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    int active = 0;
    const int status = library.status("nvmlDeviceGetNvLinkState", library.device, link, &active);
    if (status == Library::kNotSupported || status == Library::kInvalidArgument) break;
    if (status != Library::kSuccess) return std::nullopt;
    ++links.present;
    if (active != 0) ++links.active;
  }
  return links;
}

}  // namespace

std::optional<OtherProcesses> others_of(const std::optional<std::vector<GpuProcess>>& processes,
                                        std::uint32_t own_pid) {
  if (!processes || processes->empty()) return std::nullopt;
  OtherProcesses others;
  for (const GpuProcess& process : *processes) {
    if (process.pid == own_pid) {
      others.sees_itself = true;
    } else {
      others.listed.push_back(process);
    }
  }
  others.count = static_cast<int>(others.listed.size()) - (others.sees_itself ? 0 : 1);
  return others;
}

DriverFacts Nvml::driver() const {
  DriverFacts facts;
  facts.version = driver_version();
  int cuda = 0;
  if (library_->call("nvmlSystemGetCudaDriverVersion_v2", &cuda) && cuda > 0) {
    facts.cuda_version = cuda;
  }
  unsigned count = 0;
  if (library_->call("nvmlDeviceGetCount_v2", &count)) facts.gpus = count;
  return facts;
}

GpuReading Nvml::reading() const {
  const Library& library = *library_;
  GpuReading reading;
  if (library.device == nullptr) return reading;
  reading.sm_clock_hz = library.reading("nvmlDeviceGetClockInfo", 1e6, int{Library::kSmClock});
  reading.memory_clock_hz =
      library.reading("nvmlDeviceGetClockInfo", 1e6, int{Library::kMemoryClock});
  reading.temperature_c = library.reading("nvmlDeviceGetTemperature", 1.0, 0);
  reading.pcie_generation = number(library, "nvmlDeviceGetCurrPcieLinkGeneration");
  Utilization utilization;
  if (library.call("nvmlDeviceGetUtilizationRates", library.device, &utilization)) {
    reading.busy = utilization.gpu / 100.0;
  }
  reading.throttle_reasons = library.throttle_reasons();
  return reading;
}

std::optional<std::vector<GpuProcess>> Nvml::processes() const {
  const Library& library = *library_;
  if (library.device == nullptr) return std::nullopt;
  auto found = processes_in(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  add_new(found, processes_in(library, "nvmlDeviceGetGraphicsRunningProcesses_v3"));
  return found;
}

GpuCondition Nvml::condition() const {
  const Library& library = *library_;
  GpuCondition condition;
  condition.problem = library.problem;
  if (library.device == nullptr) return condition;
  condition.max_sm_clock_hz =
      library.reading("nvmlDeviceGetMaxClockInfo", 1e6, int{Library::kSmClock});
  condition.power_limit_w = library.reading("nvmlDeviceGetEnforcedPowerLimit", 1e-3);
  condition.default_power_limit_w =
      library.reading("nvmlDeviceGetPowerManagementDefaultLimit", 1e-3);
  if (const auto persistence = library.reading("nvmlDeviceGetPersistenceMode", 1.0)) {
    condition.persistence = *persistence != 0.0;
  }
  const Mode ecc_mode = mode(library, "nvmlDeviceGetEccMode");
  condition.ecc = ecc_mode.current;
  condition.ecc_after_reset = ecc_mode.pending;
  add_memory_health(library, condition);
  condition.mig = mode(library, "nvmlDeviceGetMigMode").current;
  condition.pcie = pcie_link(library);
  condition.nvlinks = nvlinks(library);
  condition.processes = processes();
  condition.slowed_by_power_s = violation_s(library, kPowerPolicy);
  condition.slowed_by_heat_s = violation_s(library, kThermalPolicy);
  return condition;
}

}  // namespace nf4bench::device
