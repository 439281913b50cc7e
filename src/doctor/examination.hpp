#pragma once

#include "device/device.hpp"
#include "doctor/facts.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

namespace nf4bench::doctor {

struct ExaminationOptions {
  std::filesystem::path root = "/";  // where /proc and /sys are
  std::string architectures;         // what this program was built for
  std::string cuda_problem;          // why there is no GPU and the CPU was taken; else empty
  double rest_s = 1.2;  // doing nothing: the driver's figures reach back up to a second
  AaOptions aa;         // its on_progress is not used
  std::function<void(double done, const std::string& what)> on_progress;
};

// Collects the facts about `device`: reads, rests, measures a variant against itself and reads
// again. Changes no setting. When `interrupted` is set it returns early, with aa.was_interrupted.
DoctorFacts examine(device::Device& device, const ExaminationOptions& options,
                    const std::atomic<bool>& interrupted);

}  // namespace nf4bench::doctor
