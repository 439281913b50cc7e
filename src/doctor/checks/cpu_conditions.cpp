#include "doctor/checks/cpu_conditions.hpp"

#include "doctor/checks/small_files.hpp"
#include "doctor/control_group.hpp"

#include <algorithm>
#include <sched.h>
#include <set>
#include <string_view>

namespace nf4bench::doctor {
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
  const auto value = number_in(path);
  if (!value) return std::nullopt;
  return *value != 0.0;
}

void add_frequency_scaling(CpuSetup& setup, const fs::path& root,
                           const std::vector<int>& processors) {
  for (const int processor : processors) {
    const fs::path scaling = folder_of(root, processor) / "cpufreq";
    const std::string governor = first_line(scaling / "scaling_governor");
    if (!governor.empty()) ++setup.governors[governor];
    if (setup.scaling_driver.empty()) setup.scaling_driver = first_line(scaling / "scaling_driver");
    if (const auto khz = number_in(scaling / "cpuinfo_max_freq")) {
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
    std::string siblings = first_line(topology / "core_cpus_list");
    if (siblings.empty()) siblings = first_line(topology / "thread_siblings_list");
    if (siblings.empty()) return std::nullopt;
    cores.insert(siblings);
  }
  return static_cast<int>(cores.size());
}

// Only x86 has this flag; other processors do not tell.
std::optional<bool> is_virtual_machine(const fs::path& root) {
  for (const std::string& line : lines_of(root / "proc/cpuinfo")) {
    if (!line.starts_with("flags")) continue;
    const std::vector<std::string> flags = words_of(line);
    return std::find(flags.begin(), flags.end(), "hypervisor") != flags.end();
  }
  return std::nullopt;
}

std::optional<double> load_average(const fs::path& root) {
  const std::vector<std::string> words = words_of(first_line(root / "proc/loadavg"));
  return words.empty() ? std::nullopt : number(words.front());
}

// Columns of /proc/stat after the name (man 5 proc). Guest time is in user time already.
enum Column : std::size_t { kIdle = 3, kIowait = 4, kSteal = 7, kColumns = 8 };

std::optional<CpuTimes> read_times(const fs::path& root, const std::vector<int>& processors) {
  std::set<std::string> names;
  for (const int processor : processors) names.insert("cpu" + std::to_string(processor));
  CpuTimes times;
  std::size_t found = 0;
  for (const std::string& line : lines_of(root / "proc/stat")) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() <= kColumns || !names.contains(words.front())) continue;
    ++found;
    for (std::size_t column = 0; column < kColumns; ++column) {
      const double ticks = number(words[column + 1]).value_or(0.0);
      times.total += ticks;
      if (column == kSteal) times.stolen += ticks;
      if (column != kIdle && column != kIowait && column != kSteal) times.busy += ticks;
    }
  }
  if (found == 0 || found != names.size()) return std::nullopt;
  return times;
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
    const auto khz = number_in(folder_of(root, processor) / "cpufreq/scaling_cur_freq");
    if (khz) reading.clock_hz = std::max(reading.clock_hz.value_or(0.0), *khz * kKilo);
  }
  reading.times = read_times(root, processors);
  reading.paused_s = read_control_group(root).paused_s;
  return reading;
}

std::vector<int> allowed_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) CPU_SET(0, &allowed);
  std::vector<int> processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed)) processors.push_back(processor);
  }
  return processors;
}

}  // namespace nf4bench::doctor
