#include "base/text.hpp"
#include "device/nvml/nvml.hpp"
#include "doctor/checks/checks.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace nf4bench::doctor {
namespace {

constexpr double kRampsUp = 0.9;
constexpr double kMegahertz = 1e6;
constexpr int kClockStepMhz = 15;  // clocks that a GPU can be locked to are multiples of this

constexpr double kIdleGpu = 0.01;  // the driver counts in percent
constexpr double kBusyGpu = 0.10;
constexpr std::size_t kProcessesNamed = 4;

std::string megahertz(double hz) {
  return fmt::format("{:.0f}", hz / kMegahertz);
}

std::string clock_text(const std::optional<double>& hz) {
  return hz ? megahertz(*hz) + " MHz" : kUnknown;
}

std::vector<double> sorted(std::vector<double> values) {
  std::ranges::sort(values);
  return values;
}

// A command that locks clocks at what the GPU can hold under this load.
std::string lock_command(const std::vector<double>& clocks, const std::string& pci_id) {
  const double low_mhz = statistics::quantile_sorted(clocks, 0.05) / kMegahertz;
  const int mhz = static_cast<int>(low_mhz) / kClockStepMhz * kClockStepMhz;
  return fmt::format("sudo nvidia-smi -i {} --lock-gpu-clocks={},{}  # undo: --reset-gpu-clocks",
                     pci_id, mhz, mhz);
}

std::set<std::string> memory_clocks(const std::vector<device::GpuReading>& readings) {
  std::set<std::string> clocks;
  for (const device::GpuReading& reading : readings) {
    if (reading.memory_clock_hz) clocks.insert(megahertz(*reading.memory_clock_hz));
  }
  return clocks;
}

// Reasons that come from power, heat or broken hardware. The others (clocks set by a user, sync
// boost) hold clocks steady.
bool is_forced(const std::string& reason) {
  return reason.find("power") != std::string::npos || reason.find("thermal") != std::string::npos ||
         reason.find("hardware") != std::string::npos;
}

// How often each forced reason was active; empty when no reading tells.
struct ReasonCounts {
  std::size_t known = 0;  // readings
  std::vector<std::pair<std::string, std::size_t>> forced;
  std::set<std::string> chosen;
};

ReasonCounts count_reasons(const std::vector<device::GpuReading>& readings) {
  ReasonCounts counts;
  for (const device::GpuReading& reading : readings) {
    if (!reading.throttle_reasons) continue;
    ++counts.known;
    for (const std::string& reason : *reading.throttle_reasons) {
      if (!is_forced(reason)) {
        counts.chosen.insert(reason);
        continue;
      }
      const auto same =
          std::ranges::find(counts.forced, reason, [](const auto& each) { return each.first; });
      if (same == counts.forced.end()) {
        counts.forced.emplace_back(reason, 1);
      } else {
        ++same->second;
      }
    }
  }
  return counts;
}

// One thing that slows the GPU down.
struct Part {
  Severity severity = Severity::kNote;
  std::string text;
  bool is_power = false;  // lower clocks would help
};

std::vector<Part> parts_at_work(const ReasonCounts& work) {
  std::vector<Part> parts;
  for (const auto& [reason, count] : work.forced) {
    const bool is_power = reason == "software power cap";
    const bool is_lasting = 2 * count >= work.known;
    parts.push_back({!is_power && is_lasting ? Severity::kWorthless : Severity::kWarning,
                     fmt::format("{} in {} of {} readings at work", reason, count, work.known),
                     is_power});
  }
  return parts;
}

// Seconds that a cause had slowed the GPU down, before and after the measurement.
struct SlowedSeconds {
  std::string cause;
  std::optional<double> before;
  std::optional<double> after;
};

void add_slowed(std::vector<Part>& parts, const SlowedSeconds& slowed, double worked_s) {
  if (!slowed.before || !slowed.after || worked_s <= 0.0) return;
  const double share = std::min(1.0, (*slowed.after - *slowed.before) / worked_s);
  if (share <= kIdleGpu) return;
  parts.push_back(
      {Severity::kWarning,
       fmt::format("slowed by {} for {:.0f} % of the time", slowed.cause, 100.0 * share),
       slowed.cause == "power"});
}

std::string process_text(const device::GpuProcess& process) {
  std::string text = fmt::format("pid {}", process.pid);
  if (!process.name.empty()) {
    const std::size_t slash = process.name.rfind('/');
    text = fmt::format("{} ({}", escaped(process.name.substr(slash + 1), 30), text);
    if (process.memory_bytes) {
      text += fmt::format(", {} MiB", *process.memory_bytes >> 20);
    }
    text += ')';
  }
  return text;
}

std::string others_text(const device::OtherProcesses& others) {
  std::vector<std::string> names;
  for (const device::GpuProcess& process : others.listed) {
    if (names.size() == kProcessesNamed) break;
    names.push_back(process_text(process));
  }
  const std::string list = fmt::format("{}{}", fmt::join(names, ", "),
                                       others.listed.size() > names.size() ? ", ..." : "");
  if (others.sees_itself) {
    return fmt::format("{} other{} on this GPU: {}", others.count, others.count == 1 ? "" : "s",
                       list);
  }
  return fmt::format("{} other{} on this GPU, this program being one of: {}", others.count,
                     others.count == 1 ? "" : "s", list);
}

}  // namespace

Finding check_clocks(const GpuConditions& gpu, const AaRun& aa, const std::string& pci_id) {
  Finding finding = fine(
      "clocks", "", "times follow the SM clock; a change that clocks explain is UNSURE to compare");
  const std::optional<double> rest =
      gpu.at_rest.empty() ? std::nullopt : gpu.at_rest.back().sm_clock_hz;
  if (aa.sm_clock_hz.empty()) {
    finding.severity = Severity::kNote;
    finding.found = fmt::format("SM clock at work {}, at rest {}", kUnknown, clock_text(rest));
    return finding;
  }
  const std::vector<double> clocks = sorted(aa.sm_clock_hz);
  const double low = statistics::quantile_sorted(clocks, 0.05);
  const double high = statistics::quantile_sorted(clocks, 0.95);
  const double spread = (high - low) / statistics::median(clocks);
  finding.found = fmt::format(
      "SM clock {} to {} at work, which is {:.1f} % apart (90 % of samples); at rest {}; at most "
      "{}",
      megahertz(low), clock_text(high), 100.0 * spread, clock_text(rest),
      clock_text(gpu.before.max_sm_clock_hz));
  if (spread > kMovingClocks) {
    finding.severity = Severity::kWarning;
  } else if (spread > kSteadyClocks || (rest && *rest < kRampsUp * low)) {
    finding.severity = Severity::kNote;
  }
  const std::set<std::string> memory = memory_clocks(gpu.at_work);
  if (memory.size() > 1) {
    finding.severity = Severity::kWarning;
    finding.found += fmt::format("; memory clock moves: {} MHz", fmt::join(memory, ", "));
  }
  if (finding.severity == Severity::kOk) return finding;
  finding.found = "not locked: " + finding.found;
  finding.remedy = lock_command(clocks, pci_id);
  return finding;
}

Finding check_throttling(const GpuConditions& gpu, const AaRun& aa, const std::string& pci_id) {
  Finding finding =
      fine("throttling", "none",
           "a GPU that power or heat slows down is measured at the clock of the moment");
  const ReasonCounts work = count_reasons(gpu.at_work);
  const ReasonCounts rest = count_reasons(gpu.at_rest);
  if (!work.chosen.empty())
    finding.found = fmt::format("none but {}", fmt::join(work.chosen, ", "));
  if (work.known == 0 && rest.known == 0) finding = unknown(finding);
  std::vector<Part> parts = parts_at_work(work);
  add_slowed(parts, {"power", gpu.before.slowed_by_power_s, gpu.after.slowed_by_power_s},
             gpu.worked_s);
  add_slowed(parts, {"heat", gpu.before.slowed_by_heat_s, gpu.after.slowed_by_heat_s},
             gpu.worked_s);
  for (const auto& [reason, count] : rest.forced) {
    parts.push_back({Severity::kNote, reason + " at rest"});
  }
  if (parts.empty()) return finding;
  finding.found.clear();
  for (const Part& part : parts) {
    finding.severity = std::max(finding.severity, part.severity);
    finding.found += (finding.found.empty() ? "" : "; ") + part.text;
  }
  const bool power_alone = std::ranges::all_of(parts, &Part::is_power);
  finding.remedy =
      power_alone && !aa.sm_clock_hz.empty()
          ? lock_command(sorted(aa.sm_clock_hz), pci_id)
          : fmt::format("nvidia-smi -i {} -q -d PERFORMANCE,POWER,TEMPERATURE", pci_id);
  return finding;
}

Finding check_processes(const GpuConditions& gpu, const std::string& pci_id) {
  Finding finding =
      fine("processes", "",
           "whoever else computes here takes SMs, cache and bandwidth at random moments");
  const std::optional<double> busy = median_of(gpu.at_rest, &device::GpuReading::busy);
  const std::string busy_text =
      busy ? fmt::format("GPU busy for {:.0f} % of the time without this program", 100.0 * *busy)
           : "how busy the GPU is without this program is unknown";
  const auto others = device::others_of(gpu.before.processes, gpu.own_pid);
  if (others) {
    if (others->count > 0) finding.severity = Severity::kWarning;
    finding.found = others->count == 0 ? "no other on this GPU" : others_text(*others);
  } else {
    finding.severity = Severity::kNote;
    finding.found = fmt::format("processes {}", kUnknown);
    if (gpu.before.processes) finding.found += ": the driver lists not even this one";
  }
  finding.found += "; " + busy_text;
  if (busy && *busy >= kBusyGpu) {
    finding.severity = Severity::kWorthless;
  } else if (busy && *busy > kIdleGpu) {
    finding.severity = std::max(finding.severity, Severity::kWarning);
  }
  if (finding.severity >= Severity::kWarning) {
    finding.remedy = fmt::format(
        "nvidia-smi -i {} --query-compute-apps=pid,process_name,used_memory --format=csv", pci_id);
  }
  return finding;
}

}  // namespace nf4bench::doctor
