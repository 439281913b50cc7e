#include "doctor/control_group.hpp"

#include "device/cpu/small_files.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace nf4bench::doctor {
namespace {

namespace fs = std::filesystem;

constexpr double kMicro = 1e-6;
constexpr double kNano = 1e-9;

// The two interfaces that Linux has for control groups; their files differ.
enum class Version : std::uint8_t { kOne, kTwo };

// A group of one hierarchy: where the hierarchy is mounted, and the group's path inside.
struct Group {
  fs::path mount;
  fs::path path;  // relative; empty for the root
  Version version = Version::kOne;
};

// A line of /proc/self/cgroup is "NUMBER:CONTROLLERS:PATH"; version 2 has no controllers.
std::optional<Group> group_of(const std::string& line, const fs::path& root) {
  const std::size_t first = line.find(':');
  const std::size_t second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const fs::path path = fs::path(line.substr(second + 1)).relative_path();
  const fs::path mounts = root / "sys/fs/cgroup";
  std::error_code ignored;
  if (controllers.empty()) {
    const bool is_hybrid = fs::is_directory(mounts / "unified", ignored);
    return Group{is_hybrid ? mounts / "unified" : mounts, path, Version::kTwo};
  }
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name != "cpu") continue;
    const bool has_short_name = fs::is_directory(mounts / "cpu", ignored);
    return Group{mounts / (has_short_name ? "cpu" : controllers), path, Version::kOne};
  }
  return std::nullopt;
}

// Processors that the group at `folder` grants; 0 for no limit, absent when it does not say.
std::optional<double> limit_of(const fs::path& folder, Version version) {
  if (version == Version::kTwo) {
    const std::vector<std::string> words = device::words_of(device::first_line(folder / "cpu.max"));
    if (words.size() != 2) return std::nullopt;
    if (words[0] == "max") return 0.0;
    const auto quota = device::number(words[0]);
    const auto period = device::number(words[1]);
    return quota && period && *period > 0 ? std::optional(*quota / *period) : std::nullopt;
  }
  const auto quota = device::number_in(folder / "cpu.cfs_quota_us");
  const auto period = device::number_in(folder / "cpu.cfs_period_us");
  if (!quota || !period || *period <= 0) return std::nullopt;
  return *quota < 0 ? 0.0 : *quota / *period;
}

std::optional<double> paused_s(const fs::path& folder) {
  for (const std::string& line : device::lines_of(folder / "cpu.stat")) {
    const std::vector<std::string> words = device::words_of(line);
    if (words.size() != 2) continue;
    const auto value = device::number(words[1]);
    if (!value) continue;
    if (words[0] == "throttled_usec") return *value * kMicro;
    if (words[0] == "throttled_time") return *value * kNano;
  }
  return std::nullopt;
}

void add_folder(ControlGroupTime& time, const fs::path& folder, Version version) {
  if (const auto limit = limit_of(folder, version)) {
    time.is_known = true;
    if (*limit > 0.0) time.limit = std::min(time.limit.value_or(*limit), *limit);
  }
  if (const auto paused = paused_s(folder)) time.paused_s = time.paused_s.value_or(0.0) + *paused;
}

// The root of version 2 has no cpu.max, so a process that is in no group below it has no limit.
bool is_unlimited_root(const Group& group) {
  std::error_code ignored;
  return group.version == Version::kTwo && group.path.empty() &&
         fs::exists(group.mount / "cgroup.controllers", ignored) &&
         device::first_line(group.mount / "cgroup.controllers").find("cpu") != std::string::npos;
}

}  // namespace

ControlGroupTime read_control_group(const fs::path& root) {
  ControlGroupTime time;
  for (const std::string& line : device::lines_of(root / "proc/self/cgroup")) {
    const std::optional<Group> group = group_of(line, root);
    if (!group) continue;
    if (is_unlimited_root(*group)) time.is_known = true;
    // Inside a container the path may be that of the host. Then only the root of the mount exists.
    for (fs::path path = group->path;; path = path.parent_path()) {
      add_folder(time, group->mount / path, group->version);
      if (path.empty()) break;
    }
  }
  return time;
}

}  // namespace nf4bench::doctor
