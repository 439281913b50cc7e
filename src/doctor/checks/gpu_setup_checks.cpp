#include "doctor/checks/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

namespace nf4bench::doctor {
namespace {

constexpr double kSameLimit = 0.99;  // of the default power limit; less means that it was lowered

const char* on_or_off(device::GpuSetting setting) {
  return setting == device::GpuSetting::kOn ? "on" : "off";
}

std::string cuda_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// 13000 for "13.0", as the driver counts; absent for anything else.
std::optional<int> cuda_number(const std::string& version) {
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [last, minor_error] = std::from_chars(dot + 1, end, minor);
  if (minor_error != std::errc() || last != end) return std::nullopt;
  return 1000 * major + 10 * minor;
}

// One entry of CMAKE_CUDA_ARCHITECTURES.
struct Architecture {
  int number = 0;          // 90
  bool has_code = true;    // machine code; not in "90-virtual"
  bool has_ptx = true;     // not in "90-real"
  bool is_general = true;  // not in "90a", "100f", which run on their own kind only
};

std::optional<Architecture> parse_architecture(const std::string& word) {
  Architecture architecture;
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, architecture.number);
  if (error != std::errc()) return std::nullopt;  // "native", "all-major"
  std::string suffix(rest, end);
  if (suffix.starts_with('a') || suffix.starts_with('f')) {
    architecture.is_general = false;
    suffix.erase(0, 1);
  }
  if (suffix == "-real") architecture.has_ptx = false;
  if (suffix == "-virtual") architecture.has_code = false;
  return architecture;
}

// The entries of a list as CMake or this program write it; empty when one cannot be read.
std::vector<Architecture> parse_architectures(const std::string& list) {
  std::vector<Architecture> architectures;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const auto architecture = parse_architecture(word);
    if (!architecture) return {};
    architectures.push_back(*architecture);
  }
  return architectures;
}

// The list as text that can be wrapped.
std::string spaced(const std::string& list) {
  if (list.empty()) return kUnknown;
  std::string text;
  for (const char letter : list) {
    text += letter;
    if (letter == ',') text += ' ';
  }
  return text;
}

// How code for `architecture` comes to run on a GPU of compute capability `gpu`.
enum class Fit : std::uint8_t { kNone, kCompiledByDriver, kSameFamily, kExact };

Fit fit_of(const Architecture& architecture, int gpu) {
  if (architecture.has_code && architecture.number == gpu) return Fit::kExact;
  if (!architecture.is_general || architecture.number > gpu) return Fit::kNone;
  if (architecture.has_code && architecture.number / 10 == gpu / 10) return Fit::kSameFamily;
  return architecture.has_ptx ? Fit::kCompiledByDriver : Fit::kNone;
}

}  // namespace

Finding check_management(const device::GpuCondition& gpu) {
  return {
      "management", Severity::kWarning,
      "the driver cannot be asked: " + gpu.problem +
          "; power cap, persistence mode, ECC, MIG, throttling and other processes unknown",
      "what holds the GPU down or shares it stays unseen",
      "ldconfig -p | grep libnvidia-ml  # a container needs NVIDIA_DRIVER_CAPABILITIES=utility"};
}

Finding check_power_cap(const device::GpuCondition& gpu, const std::string& pci_id) {
  Finding finding =
      fine("power_cap", "",
           "a lowered cap lowers clocks under load, and times are those of another GPU");
  if (!gpu.power_limit_w || !gpu.default_power_limit_w) return unknown(finding);
  finding.found = fmt::format("{:.0f} W of {:.0f} W by default", *gpu.power_limit_w,
                              *gpu.default_power_limit_w);
  if (*gpu.power_limit_w < kSameLimit * *gpu.default_power_limit_w) {
    finding.severity = Severity::kWarning;
    finding.remedy = fmt::format("sudo nvidia-smi -i {} --power-limit={:.0f}", pci_id,
                                 *gpu.default_power_limit_w);
  }
  return finding;
}

Finding check_persistence(const device::GpuCondition& gpu, const std::string& pci_id) {
  Finding finding = fine("persistence", "on",
                         "without it the driver unloads between programs: clock and power settings "
                         "are lost, and the GPU starts cold");
  if (!gpu.persistence) return unknown(finding);
  if (!*gpu.persistence) {
    finding.severity = Severity::kWarning;
    finding.found = "off";
    finding.remedy = fmt::format("sudo nvidia-smi -i {} --persistence-mode=1", pci_id);
  }
  return finding;
}

Finding check_ecc(const device::GpuCondition& gpu, const std::string& pci_id) {
  Finding finding = fine("ecc", "",
                         "it costs bandwidth on some GPUs, and memory that fails is repaired at "
                         "the next reset: runs before and after are not comparable");
  if (gpu.ecc == device::GpuSetting::kUnknown) return unknown(finding);
  if (gpu.ecc == device::GpuSetting::kUnsupported) {
    finding.found = "this GPU has none";
    return finding;
  }
  finding.found = on_or_off(gpu.ecc);
  const auto warn = [&](const std::string& text) {
    finding.severity = Severity::kWarning;
    finding.found += "; " + text;
    finding.remedy = fmt::format("sudo nvidia-smi -i {} --gpu-reset", pci_id);
  };
  const bool changes =
      gpu.ecc_after_reset != device::GpuSetting::kUnknown && gpu.ecc_after_reset != gpu.ecc;
  if (changes) warn(fmt::format("{} after the next reset", on_or_off(gpu.ecc_after_reset)));
  if (gpu.uncorrected_errors.value_or(0) > 0) {
    warn(fmt::format("{} errors that could not be corrected", *gpu.uncorrected_errors));
  }
  if (gpu.remapped_rows.value_or(0) > 0) {
    finding.severity = std::max(finding.severity, Severity::kNote);
    finding.found += fmt::format("; memory rows remapped: {}", *gpu.remapped_rows);
  }
  if (gpu.remapping_pending.value_or(false)) warn("memory rows wait to be remapped");
  if (gpu.remapping_failed.value_or(false)) warn("memory rows could not be remapped");
  return finding;
}

Finding check_mig(const device::GpuCondition& gpu, const std::string& pci_id) {
  Finding finding = fine("mig", "off",
                         "an instance has a part of the SMs and of the bandwidth, and shares "
                         "clocks and power with its neighbours");
  if (gpu.mig == device::GpuSetting::kUnknown) return unknown(finding);
  if (gpu.mig == device::GpuSetting::kUnsupported) finding.found = "this GPU has none";
  if (gpu.mig == device::GpuSetting::kOn) {
    finding.severity = Severity::kWarning;
    finding.found = "on: this is an instance of a GPU";
    finding.remedy = fmt::format("sudo nvidia-smi -i {} --multi-instance-gpu=0", pci_id);
  }
  return finding;
}

Finding check_pcie(const GpuState& gpu) {
  Finding finding = fine("pcie", "",
                         "a lane or generation that is lost slows loading and offloading down, not "
                         "the kernels, and points to a fault of the slot, a riser or the card");
  const device::PcieLink& link = gpu.pcie;
  const std::optional<int>& generation = gpu.pcie_generation;
  if (!generation || !link.width || !link.card_generation || !link.card_width) {
    return unknown(finding);
  }
  finding.found = fmt::format("generation {}, {} lanes", *generation, *link.width);
  const auto find = [&](Severity severity, const std::string& text) {
    finding.severity = std::max(finding.severity, severity);
    finding.found += "; " + text;
    finding.remedy = "seat the card anew, in a slot with all lanes, and look at the BIOS and dmesg";
  };
  if (*link.width < *link.card_width) {
    find(Severity::kWarning, fmt::format("the card has {} lanes", *link.card_width));
  }
  if (*generation < *link.card_generation) {
    const bool is_by_slot = *generation >= link.most_generation.value_or(*link.card_generation);
    find(is_by_slot ? Severity::kNote : Severity::kWarning,
         fmt::format("the card is of generation {}", *link.card_generation));
  }
  return finding;
}

Finding check_nvlink(const device::GpuCondition& gpu, const std::string& pci_id) {
  Finding finding = fine("nvlink", "",
                         "a link that is down slows exchange between GPUs, not the kernels, and "
                         "points to a fault of the board or a switch");
  if (!gpu.nvlinks) return unknown(finding);
  const device::NvLinks& links = *gpu.nvlinks;
  if (links.present == 0) {
    finding.found = "this GPU has none";
    return finding;
  }
  finding.found = fmt::format("{} of {} links active", links.active, links.present);
  if (links.active == 0) {
    finding.severity = Severity::kNote;
  } else if (links.active < links.present) {
    finding.severity = Severity::kWarning;
    finding.remedy = fmt::format("nvidia-smi nvlink --status -i {}", pci_id);
  }
  return finding;
}

Finding check_driver(const device::DriverFacts& driver, const record::DeviceInfo& device) {
  Finding finding = fine("driver", "",
                         "an older driver serves a newer runtime in part only, by compatibility; "
                         "it cannot compile PTX for it");
  const std::optional<int> runtime = cuda_number(device.runtime);
  finding.found = fmt::format("{} for CUDA {}; built with CUDA {}",
                              driver.version.empty() ? kUnknown : driver.version,
                              driver.cuda_version ? cuda_text(*driver.cuda_version) : kUnknown,
                              device.runtime.empty() ? kUnknown : device.runtime);
  if (!runtime || !driver.cuda_version) {
    finding.severity = Severity::kNote;
  } else if (*driver.cuda_version < *runtime) {
    finding.severity = Severity::kWarning;
    finding.remedy = fmt::format("update the driver to one for CUDA {}, or build with CUDA {}",
                                 cuda_text(*runtime), cuda_text(*driver.cuda_version));
  }
  return finding;
}

Finding check_architectures(const std::string& architectures, const record::DeviceInfo& device) {
  const int gpu = device.compute_capability;
  Finding finding =
      fine("architectures", "",
           "kernels compiled by the driver depend on its version and are not those of a release");
  const std::vector<Architecture> built = parse_architectures(architectures);
  finding.found = fmt::format("this GPU is sm_{}, built for {}", gpu, spaced(architectures));
  if (built.empty()) {
    finding.severity = Severity::kNote;
    return finding;
  }
  Fit best = Fit::kNone;
  for (const Architecture& each : built) best = std::max(best, fit_of(each, gpu));
  if (best == Fit::kExact) return finding;
  finding.remedy =
      fmt::format("cmake -B build -DCMAKE_CUDA_ARCHITECTURES={} && cmake --build build", gpu);
  if (best == Fit::kSameFamily) {
    finding.severity = Severity::kNote;
    finding.found += ": runs code of an older one";
  } else {
    finding.severity = Severity::kWarning;
    finding.found +=
        best == Fit::kNone ? ": no kernel for it" : ": compiled by the driver from PTX";
  }
  return finding;
}

// Times do not depend on it: never worse than a note.
Finding check_counters(const device::CounterAccess& access) {
  Finding finding = fine("counters", "this program may read them",
                         "\"run --why\" and \"try --why\" tell from performance counters what "
                         "limits a kernel; times need none");
  const std::optional<bool> may = device::may_count(access);
  if (may.value_or(false)) return finding;
  finding.severity = Severity::kNote;
  finding.found = may ? "the driver lets administrators alone read them" : kUnknown;
  finding.remedy = device::how_to_allow_counters(access);
  return finding;
}

// Microsoft's builds are called "5.15.167.4-microsoft-standard-WSL2". WSL 1, which has no GPU,
// writes its "Microsoft" with a capital letter.
std::optional<Finding> check_wsl(const std::string& kernel) {
  if (kernel.find("microsoft") == std::string::npos) return std::nullopt;
  return Finding{
      "wsl", Severity::kNote, "WSL 2: this Linux (" + kernel + ") runs beside Windows",
      "Windows' driver owns the GPU: its desktop and programs share it unseen, and plain launches "
      "wait for its scheduler",
      "close what draws in Windows, and set clocks and power with nvidia-smi there, as "
      "administrator"};
}

}  // namespace nf4bench::doctor
