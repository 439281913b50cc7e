#pragma once

// Who may read the performance counters of a GPU. No call of the driver tells beforehand, so this
// looks at what decides it.

#include <filesystem>
#include <optional>
#include <string>

namespace nf4bench::device {

struct CounterAccess {
  // Whether the driver lets administrators alone read them; absent: it does not say.
  std::optional<bool> for_admins_alone{};
  bool is_admin = false;  // this process has CAP_SYS_ADMIN, or CAP_PERFMON, which new drivers heed
  bool is_root = false;   // without that capability: in a container
  bool in_wsl = false;    // Windows decides
};

// As the files below `root` have it.
CounterAccess read_counter_access(const std::filesystem::path& root = "/");

// Whether this program may read counters as far as `access` tells; absent: nobody knows.
std::optional<bool> may_count(const CounterAccess& access);

// What is to be done so that it may.
std::string how_to_allow_counters(const CounterAccess& access);

}  // namespace nf4bench::device
