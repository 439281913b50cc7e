#include "device/counter_access.hpp"

#include "device/cpu/small_files.hpp"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nf4bench::device {
namespace {

constexpr int kSysAdmin = 21;  // as linux/capability.h numbers them
constexpr int kPerfmon = 38;

// What stands behind `key` in a file of lines such as "RmProfilingAdminOnly: 1".
std::string value_of(const std::filesystem::path& path, std::string_view key) {
  for (const std::string& line : lines_of(path)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 2 && words[0] == key) return words[1];
  }
  return "";
}

bool has_capability(const std::string& mask, int number) {
  std::uint64_t bits = 0;
  std::from_chars(mask.data(), mask.data() + mask.size(), bits, 16);
  return (bits >> number & 1) != 0;
}

}  // namespace

CounterAccess read_counter_access(const std::filesystem::path& root) {
  CounterAccess access;
  const std::string admins = value_of(root / "proc/driver/nvidia/params", "RmProfilingAdminOnly:");
  if (!admins.empty()) access.for_admins_alone = admins != "0";
  const std::filesystem::path status = root / "proc/self/status";
  const std::string mask = value_of(status, "CapEff:");
  access.is_admin = has_capability(mask, kSysAdmin) || has_capability(mask, kPerfmon);
  access.is_root = value_of(status, "Uid:") == "0";
  const std::string kernel = first_line(root / "proc/sys/kernel/osrelease");
  access.in_wsl = kernel.find("microsoft") != std::string::npos;
  return access;
}

std::optional<bool> may_count(const CounterAccess& access) {
  if (access.in_wsl || !access.for_admins_alone) return std::nullopt;
  return access.is_admin || !*access.for_admins_alone;
}

std::string how_to_allow_counters(const CounterAccess& access) {
  if (access.in_wsl) {
    return "Windows decides: an administrator allows them in the NVIDIA Control Panel, Developer, "
           "Manage GPU Performance Counters; the driver must be 525 or newer";
  }
  if (may_count(access).value_or(false)) {
    return "the host decides what this container or virtual GPU may do: on it, start the container "
           "with --cap-add=SYS_ADMIN, or give the virtual GPU the option enable_profiling";
  }
  if (access.is_root) {
    return "start this container with --cap-add=SYS_ADMIN, or let an administrator of the host "
           "load the driver with NVreg_RestrictProfilingToAdminUsers=0";
  }
  return "run it as root (sudo), or let an administrator load the driver with "
         "NVreg_RestrictProfilingToAdminUsers=0, for example in /etc/modprobe.d, and reboot";
}

}  // namespace nf4bench::device
