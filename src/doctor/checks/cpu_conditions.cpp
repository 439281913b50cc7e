#include "doctor/checks/cpu_conditions.hpp"

#include "device/cpu/small_files.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
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

namespace {

namespace fs = std::filesystem;

constexpr double kKilo = 1e3;  // cpufreq counts in kHz

fs::path processors_folder(const fs::path& root) {
  return root / "sys/devices/system/cpu";
}

fs::path folder_of(const fs::path& root, int processor) {
  return processors_folder(root) / ("cpu" + std::to_string(processor));
}

std::optional<bool> flag_in(const fs::path& path) {
  const auto value = device::number_in(path);
  if (!value) return std::nullopt;
  return *value != 0.0;
}

void add_frequency_scaling(CpuSetup& setup, const fs::path& root,
                           const std::vector<int>& processors) {
  for (const int processor : processors) {
    const fs::path scaling = folder_of(root, processor) / "cpufreq";
    const std::string governor = device::first_line(scaling / "scaling_governor");
    if (!governor.empty()) ++setup.governors[governor];
    if (setup.scaling_driver.empty())
      setup.scaling_driver = device::first_line(scaling / "scaling_driver");
    if (const auto khz = device::number_in(scaling / "cpuinfo_max_freq")) {
      setup.max_clock_hz = std::min(setup.max_clock_hz.value_or(*khz * kKilo), *khz * kKilo);
    }
  }
  const fs::path folder = processors_folder(root);
  if (const auto is_off = flag_in(folder / "intel_pstate/no_turbo")) {
    setup.boost = !*is_off;
    setup.boost_is_intel = true;
  } else {
    setup.boost = flag_in(folder / "cpufreq/boost");
  }
}

// How many cores `processors` belong to; absent unless the system tells for each of them.
std::optional<int> count_cores(const fs::path& root, const std::vector<int>& processors) {
  std::set<std::string> cores;
  for (const int processor : processors) {
    const fs::path topology = folder_of(root, processor) / "topology";
    std::string siblings = device::first_line(topology / "core_cpus_list");
    if (siblings.empty()) siblings = device::first_line(topology / "thread_siblings_list");
    if (siblings.empty()) return std::nullopt;
    cores.insert(siblings);
  }
  return static_cast<int>(cores.size());
}

// Only x86 has this flag; other processors do not tell.
std::optional<bool> is_virtual_machine(const fs::path& root) {
  for (const std::string& line : device::lines_of(root / "proc/cpuinfo")) {
    if (!line.starts_with("flags")) continue;
    const std::vector<std::string> flags = device::words_of(line);
    return std::ranges::find(flags, "hypervisor") != flags.end();
  }
  return std::nullopt;
}

std::optional<double> load_average(const fs::path& root) {
  const std::vector<std::string> words =
      device::words_of(device::first_line(root / "proc/loadavg"));
  return words.empty() ? std::nullopt : device::number(words.front());
}

}  // namespace

CpuSetup read_cpu_setup(const fs::path& root, const std::vector<int>& processors) {
  CpuSetup setup;
  setup.processors = static_cast<int>(processors.size());
  add_frequency_scaling(setup, root, processors);
  setup.smt = flag_in(processors_folder(root) / "smt/active");
  setup.cores = count_cores(root, processors);
  setup.load = load_average(root);
  const ControlGroupTime group = read_control_group(root);
  setup.limit = group.limit;
  setup.limit_is_known = group.is_known;
  setup.virtual_machine = is_virtual_machine(root);
  return setup;
}

CpuReading read_cpu(const fs::path& root, const std::vector<int>& processors) {
  CpuReading reading;
  for (const int processor : processors) {
    const auto khz = device::number_in(folder_of(root, processor) / "cpufreq/scaling_cur_freq");
    if (khz) reading.clock_hz = std::max(reading.clock_hz.value_or(0.0), *khz * kKilo);
  }
  reading.times = device::read_processor_times(root, processors);
  reading.paused_s = read_control_group(root).paused_s;
  return reading;
}

}  // namespace nf4bench::doctor
