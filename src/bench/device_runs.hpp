#pragma once

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "record/report.hpp"
#include "record/run_options.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::bench {

// "cuda:1".
std::string device_name(int index);

// A run on several devices, with a process for each.
struct DeviceRuns {
  const record::RunOptions& options;
  const std::vector<int>& indices;  // of the devices
  const std::atomic<bool>& interrupted;
  std::string folder;  // of the reports, with "/" at its end; empty: they are not kept
  bool at_once = true;
};

// What became of the run on one of several devices.
struct DeviceResult {
  std::string device;  // "cuda:1"
  ExitCode code = ExitCode::kOk;
  std::string problem{};                   // why it has no whole report; empty when it has
  std::optional<record::Report> report{};  // as far as it got
  bool was_silent = false;                 // for too long, and ended for that
  std::string path{};                      // of the report; empty when it is not kept
};

// The exit code of a process in the terms of this program: one that did not end by itself has lost
// its device.
ExitCode code_of(const ChildOutcome& outcome);

// The worst of them: what is wrong with the command line or a file, then a failed verification,
// then a device that failed, then a run that measured nothing.
ExitCode worst_of(const std::vector<DeviceResult>& results);

// Gets what the process of device number `index` writes to stderr.
using TakeErr = std::function<void(std::size_t index, std::string_view bytes)>;

// What the processes left behind; of those that were not begun nothing.
std::vector<ChildOutcome> run_devices(const DeviceRuns& runs, const TakeErr& take_err);

// The same, with their reports. A process that ended with a message has no problem said here.
std::vector<DeviceResult> measure_devices(const DeviceRuns& runs, const TakeErr& take_err);

// several_devices.cpp: a whole run on several devices, this program started again for each of them,
// at once or in turn, with the same options, and what came of it on stdout. The result is the worst
// of the exit codes, or that of an interruption.
ExitCode run_on_several(const record::RunOptions& options);

}  // namespace nf4bench::bench
