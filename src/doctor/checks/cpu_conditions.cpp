#include "doctor/checks/cpu_conditions.hpp"

#include "device/cpu/small_files.hpp"
#include "doctor/control_group.hpp"

#include <algorithm>
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
    return std::find(flags.begin(), flags.end(), "hypervisor") != flags.end();
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
