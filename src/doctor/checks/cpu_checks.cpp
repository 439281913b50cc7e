#include "doctor/checks/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::doctor {
namespace {

constexpr double kIdleShare = 0.02;
constexpr double kLightShare = 0.10;
constexpr double kBusyShare = 0.50;

constexpr double kLittleStolen = 0.01;
constexpr double kMuchStolen = 0.10;

constexpr double kGigahertz = 1e9;

// What the processors did between two readings.
struct Shares {
  double busy = 0.0;
  double stolen = 0.0;
};

std::optional<Shares> shares_between(const std::optional<device::ProcessorTimes>& start,
                                     const std::optional<device::ProcessorTimes>& end) {
  if (!start || !end) return std::nullopt;
  const double total = end->total - start->total;
  if (total <= 0.0) return std::nullopt;
  return Shares{(end->busy - start->busy) / total, (end->stolen - start->stolen) / total};
}

std::optional<double> paused_at_work(const CpuConditions& cpu) {
  if (cpu.at_work.size() < 2) return std::nullopt;
  const auto start = cpu.at_work.front().paused_s;
  const auto end = cpu.at_work.back().paused_s;
  if (!start || !end) return std::nullopt;
  return *end - *start;
}

}  // namespace

Finding check_load(const CpuConditions& cpu) {
  Finding finding = fine("load", "",
                         "programs beside this one take processors, cache and bandwidth at random "
                         "moments; a parallel variant waits for its slowest thread");
  const auto rest = shares_between(cpu.rest_start.times, cpu.rest_end.times);
  const std::string average =
      cpu.setup.load ? fmt::format("{:.2f}", *cpu.setup.load) : std::string(kUnknown);
  finding.found = fmt::format("others keep {} of {} processors busy; load average {}",
                              rest ? fmt::format("{:.1f}", rest->busy * cpu.setup.processors)
                                   : std::string("an unknown number"),
                              cpu.setup.processors, average);
  if (rest && rest->busy >= kBusyShare) {
    finding.severity = Severity::kWorthless;
  } else if (rest && rest->busy >= kLightShare) {
    finding.severity = Severity::kWarning;
  } else if (!rest || rest->busy >= kIdleShare) {
    finding.severity = Severity::kNote;
  }
  if (finding.severity >= Severity::kWarning) {
    finding.remedy = "ps -eo pid,user,pcpu,comm --sort=-pcpu | head";
  }
  return finding;
}

Finding check_stolen_time(const CpuConditions& cpu) {
  Finding finding =
      fine("stolen_time", "",
           "while the host runs another virtual machine the clock of a sample goes on");
  std::optional<Shares> work;
  if (!cpu.at_work.empty()) {
    work = shares_between(cpu.at_work.front().times, cpu.at_work.back().times);
  }
  if (!work) return unknown(finding);
  finding.found = fmt::format("{:.1f} % of the processors' time at work", 100.0 * work->stolen);
  if (work->stolen >= kMuchStolen) {
    finding.severity = Severity::kWorthless;
  } else if (work->stolen >= kLittleStolen) {
    finding.severity = Severity::kWarning;
  }
  if (finding.severity != Severity::kOk) {
    finding.remedy = "measure on a machine of its own, or one with dedicated processors";
  }
  return finding;
}

Finding check_cpu_limit(const CpuConditions& cpu) {
  Finding finding = fine("cpu_limit", "none",
                         "a control group that has used up its share is stopped until the next "
                         "period, 100 ms by default, in the middle of a sample");
  if (!cpu.setup.limit_is_known) return unknown(finding);
  if (!cpu.setup.limit) return finding;
  const double paused_s = paused_at_work(cpu).value_or(0.0);
  finding.found = fmt::format("{:.2f} processors for {} threads; stopped for {:.2f} s at work",
                              *cpu.setup.limit, cpu.threads, paused_s);
  if (paused_s > 0.0) {
    finding.severity = Severity::kWorthless;
  } else if (*cpu.setup.limit < cpu.threads) {
    finding.severity = Severity::kWarning;
  }
  if (finding.severity != Severity::kOk) {
    finding.remedy = fmt::format("nf4bench run --threads {} ...  # or lift the container's limit",
                                 std::max(1, static_cast<int>(*cpu.setup.limit)));
  }
  return finding;
}

Finding check_cpu_clocks(const CpuConditions& cpu) {
  Finding finding =
      fine("clocks", "", "times follow the clock, and nothing in a CPU report tells how it moved");
  std::vector<double> clocks;
  for (const CpuReading& reading : cpu.at_work) {
    if (reading.clock_hz) clocks.push_back(*reading.clock_hz);
  }
  if (clocks.empty()) return unknown(finding);
  const auto [low, high] = std::ranges::minmax_element(clocks);
  const double spread = *high / *low - 1.0;
  finding.found = fmt::format(
      "fastest processor at {:.2f} to {:.2f} GHz at work, which is {:.1f} % apart; at most {}",
      *low / kGigahertz, *high / kGigahertz, 100.0 * spread,
      cpu.setup.max_clock_hz ? fmt::format("{:.2f} GHz", *cpu.setup.max_clock_hz / kGigahertz)
                             : std::string(kUnknown));
  if (spread > kMovingClocks) {
    finding.severity = Severity::kWarning;
  } else if (spread > kSteadyClocks) {
    finding.severity = Severity::kNote;
  }
  if (finding.severity != Severity::kOk) {
    finding.remedy =
        fmt::format("sudo cpupower frequency-set --min {0:.0f}MHz --max {0:.0f}MHz", *low / 1e6);
  }
  return finding;
}

namespace {

// Governors under which the clock does not follow the load.
bool holds_clock(const std::string& governor) {
  return governor == "performance" || governor == "userspace";
}

}  // namespace

Finding check_governor(const CpuSetup& setup) {
  Finding finding =
      fine("governor", "", "a governor that follows the load starts every run at a low clock");
  if (setup.governors.empty()) {
    finding = unknown(finding);
    finding.found = "unknown: the system shows no frequency scaling";
    return finding;
  }
  std::vector<std::string> parts;
  for (const auto& [governor, count] : setup.governors) {
    parts.push_back(fmt::format("{} on {}", governor, count));
    if (!holds_clock(governor)) finding.severity = Severity::kWarning;
  }
  finding.found =
      fmt::format("{} of {} processors{}", fmt::join(parts, ", "), setup.processors,
                  setup.scaling_driver.empty() ? "" : " (" + setup.scaling_driver + ")");
  if (finding.severity != Severity::kOk) {
    finding.remedy = "sudo cpupower frequency-set --governor performance";
  }
  return finding;
}

Finding check_boost(const CpuSetup& setup) {
  Finding finding =
      fine("boost", "off",
           "clocks above the nominal one come and go with heat and with the number of busy cores");
  if (!setup.boost) return unknown(finding);
  if (*setup.boost) {
    finding.severity = Severity::kNote;
    finding.found = "on";
    finding.remedy =
        setup.boost_is_intel
            ? "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo  # undo: 0"
            : "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost  # undo: 1";
  }
  return finding;
}

Finding check_smt(const CpuSetup& setup, int threads) {
  Finding finding =
      fine("smt", "off", "two threads on one core share its units: which ones do decides the time");
  if (!setup.smt) return unknown(finding);
  if (!*setup.smt) return finding;
  finding.found = fmt::format("on: {} threads on {} cores", threads,
                              setup.cores ? fmt::format("{}", *setup.cores) : kUnknown);
  finding.severity = Severity::kNote;
  if (setup.cores && threads > *setup.cores) {
    finding.remedy = fmt::format("OMP_PLACES=cores nf4bench run --threads {} ...", *setup.cores);
  }
  return finding;
}

Finding check_virtual_machine(const CpuSetup& setup) {
  Finding finding =
      fine("virtual_machine", "no", "its host and its neighbours are not to be seen from here");
  if (!setup.virtual_machine) return unknown(finding);
  if (*setup.virtual_machine) {
    finding.severity = Severity::kNote;
    finding.found = "yes: neighbours on the host are not seen from here";
  }
  return finding;
}

Finding check_missing_cuda(const DoctorFacts& facts) {
  Finding finding = {"cuda", Severity::kNote, "no GPU was examined: " + facts.cuda_problem,
                     "kernels of GPUs are measured on GPUs only", ""};
  if (facts.driver.gpus.value_or(0) == 0) return finding;
  finding.severity = Severity::kWarning;
  finding.found =
      fmt::format("the driver {} sees {} GPU{}, but: {}", facts.driver.version, *facts.driver.gpus,
                  *facts.driver.gpus == 1 ? "" : "s", facts.cuda_problem);
  finding.remedy = facts.architectures.empty()
                       ? "cmake -B build -DNF4BENCH_CUDA=ON && cmake --build build"
                       : "nvidia-smi  # it shows the driver and the newest CUDA that it serves";
  return finding;
}

}  // namespace nf4bench::doctor
