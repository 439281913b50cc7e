#pragma once

#include "device/cpu/host_load.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::doctor {

// What the control groups of this process (version 1 or 2) tell about processor time.
struct ControlGroupTime {
  bool is_known = false;
  std::optional<double> limit;     // processors that it may keep busy; absent: no limit
  std::optional<double> paused_s;  // since the groups were made, because of limits
};

// Reads the group that <root>/proc/self/cgroup names and those above it, as far as they can be seen
// from here. The tightest limit counts.
ControlGroupTime read_control_group(const std::filesystem::path& root);

// What changes all the time.
struct CpuReading {
  std::optional<double> clock_hz;  // the highest of the processors
  std::optional<device::ProcessorTimes> times;
  std::optional<double> paused_s;  // since the control group was made, because of its limit
};

// How the processors that this process may run on are set up. Whatever cannot be read is absent.
struct CpuSetup {
  int processors = 0;                    // that this process may run on
  std::map<std::string, int> governors;  // how many of them each governs; empty when unknown
  std::string scaling_driver;
  std::optional<double> max_clock_hz;  // the least of them, as the hardware has it
  std::optional<bool> boost;           // clocks above the nominal one are allowed
  bool boost_is_intel = false;         // set through Intel's file, not cpufreq's
  std::optional<bool> smt;
  std::optional<int> cores;     // that the processors belong to
  std::optional<double> load;   // average of the last minute
  std::optional<double> limit;  // processors that the control groups grant; absent: none
  bool limit_is_known = false;  // whether control groups could be read
  std::optional<bool> virtual_machine;
};

// Reads below `root`, "/" but for tests, for the processors with the numbers `processors`.
CpuSetup read_cpu_setup(const std::filesystem::path& root, const std::vector<int>& processors);
CpuReading read_cpu(const std::filesystem::path& root, const std::vector<int>& processors);

// The CPU device around a measurement.
struct CpuConditions {
  CpuSetup setup;
  int threads = 0;  // that variants run with
  CpuReading rest_start;
  CpuReading rest_end;  // this program did nothing in between
  std::vector<CpuReading> at_work;
};

}  // namespace nf4bench::doctor
