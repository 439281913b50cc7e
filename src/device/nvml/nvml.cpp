#include "device/nvml/nvml.hpp"

#include "device/nvml/nvml_library.hpp"

#include <array>
#include <unistd.h>
#include <utility>

namespace nf4bench::device {
namespace {

// Bits of nvmlDeviceGetCurrentClocksEventReasons that slow a GPU down.
constexpr std::array<std::pair<unsigned long long, const char*>, 8> kThrottleReasons = {{
    {0x2, "application clocks"},
    {0x4, "software power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "software thermal slowdown"},
    {0x40, "hardware thermal slowdown"},
    {0x80, "hardware power brake"},
    {0x100, "display clocks"},
}};

}  // namespace

std::optional<std::vector<std::string>> Nvml::Library::throttle_reasons() const {
  unsigned long long bits = 0;
  if (device == nullptr || (!call("nvmlDeviceGetCurrentClocksEventReasons", device, &bits) &&
                            !call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &bits))) {
    return std::nullopt;
  }
  std::vector<std::string> reasons;
  for (const auto& [bit, name] : kThrottleReasons) {
    if ((bits & bit) != 0) reasons.emplace_back(name);
  }
  return reasons;
}

Nvml::Nvml(const std::string& pci_id) : library_(std::make_unique<Library>()) {
  Library& library = *library_;
  library.handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    library.problem = "libnvidia-ml.so.1 cannot be loaded";
  } else if (!library.call<>("nvmlInit_v2")) {
    library.problem = "NVML does not start";
  } else if (!library.call("nvmlDeviceGetHandleByPciBusId_v2", pci_id.c_str(), &library.device)) {
    library.device = nullptr;
    library.problem = "NVML does not know the GPU at " + pci_id;
  }
}

Nvml::~Nvml() = default;
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;

const std::string& Nvml::problem() const {
  return library_->problem;
}

record::DeviceState Nvml::state() const {
  const Library& library = *library_;
  record::DeviceState state;
  state.unavailable = library.problem;
  if (library.device == nullptr) return state;
  state.sm_clock_hz = library.reading("nvmlDeviceGetClockInfo", 1e6, int{Library::kSmClock});
  state.memory_clock_hz =
      library.reading("nvmlDeviceGetClockInfo", 1e6, int{Library::kMemoryClock});
  state.max_sm_clock_hz = library.reading("nvmlDeviceGetMaxClockInfo", 1e6, int{Library::kSmClock});
  state.power_w = library.reading("nvmlDeviceGetPowerUsage", 1e-3);
  state.power_limit_w = library.reading("nvmlDeviceGetEnforcedPowerLimit", 1e-3);
  state.temperature_c = library.reading("nvmlDeviceGetTemperature", 1.0, 0);
  if (const auto mode = library.reading("nvmlDeviceGetPersistenceMode", 1.0)) {
    state.persistence = *mode != 0.0;
  }
  state.throttle_reasons = library.throttle_reasons().value_or(std::vector<std::string>());
  // The list is that of the whole GPU, whatever instance of it this is.
  if (!mig().value_or(false)) {
    if (const auto others = others_of(processes(), static_cast<std::uint32_t>(getpid()))) {
      state.other_processes = others->count;
    }
  }
  return state;
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text = {};
  const bool known = library_->call("nvmlSystemGetDriverVersion", text.data(),
                                    static_cast<unsigned>(text.size() - 1));
  return known ? text.data() : "";
}

std::optional<bool> Nvml::ecc() const {
  unsigned current = 0;
  unsigned pending = 0;
  if (library_->device == nullptr ||
      !library_->call("nvmlDeviceGetEccMode", library_->device, &current, &pending)) {
    return std::nullopt;
  }
  return current != 0;
}

std::optional<double> Nvml::energy_j() const {
  unsigned long long millijoules = 0;
  if (library_->device == nullptr ||
      !library_->call("nvmlDeviceGetTotalEnergyConsumption", library_->device, &millijoules)) {
    return std::nullopt;
  }
  return static_cast<double>(millijoules) * 1e-3;
}

std::optional<bool> Nvml::mig() const {
  unsigned current = 0;
  unsigned pending = 0;
  if (library_->device == nullptr ||
      !library_->call("nvmlDeviceGetMigMode", library_->device, &current, &pending)) {
    return std::nullopt;
  }
  return current != 0;
}

}  // namespace nf4bench::device
