#include "base/memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// The number in `path`; unlimited when there is none, or the word "max".
std::int64_t limit_in(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : kUnlimited;
}

// The lowest limit of this process's control group and of the groups around it (version 2).
std::int64_t control_group_limit() {
  const fs::path root = "/sys/fs/cgroup";
  std::ifstream file("/proc/self/cgroup");
  std::int64_t least = limit_in(root / "memory.max");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::/")) continue;
    for (fs::path group = line.substr(4); !group.empty(); group = group.parent_path()) {
      least = std::min(least, limit_in(root / group / "memory.max"));
    }
  }
  return least;
}

std::int64_t address_space_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, kUnlimited));
}

}  // namespace

std::int64_t usable_memory_bytes() {
  const std::int64_t machine = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) *
                               static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  return std::min({machine, control_group_limit(), address_space_limit()});
}

}  // namespace nf4bench
