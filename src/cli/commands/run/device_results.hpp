#pragma once

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "record/report.hpp"
#include "text/page.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nf4bench::cli {

// What became of the run on one of several devices.
struct DeviceResult {
  std::string device;  // "cuda:1"
  ExitCode code = ExitCode::kOk;
  std::string problem{};                   // why it has no whole report; empty when it has
  std::optional<record::Report> report{};  // as far as it got
  std::string path{};                      // of the report; empty when it is not kept
};

// The exit code of a process in the terms of this program: one that did not end by itself has lost
// its device.
ExitCode code_of(const ChildOutcome& outcome);

// The worst of them: what is wrong with the command line or a file, then a failed verification,
// then a device that failed, then a run that measured nothing.
ExitCode worst_of(const std::vector<DeviceResult>& results);

// A line for each device.
std::string results_table(const std::vector<DeviceResult>& results,
                          const text::Style& style);

// The same for devices that were measured at the same time and alone, in the same order: how much
// longer they take together.
std::string together_table(const std::vector<DeviceResult>& together,
                           const std::vector<DeviceResult>& alone, const text::Style& style);

}  // namespace nf4bench::cli
