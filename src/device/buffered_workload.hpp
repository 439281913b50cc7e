#pragma once

#include "device/device.hpp"
#include "device/executor.hpp"
#include "device/memory.hpp"
#include "device/work.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace nf4bench::device {

// What the workloads of one device have in common. Its memory and stream outlive them.
struct WorkloadHost {
  record::DeviceInfo info;
  std::string config;      // Launch::config; empty for none
  int caches_rotated = 1;  // cold samples: the sets of a rotation, in last-level caches
  Memory& memory;
  CUstream_st* stream = nullptr;  // that calls are made on; null on the CPU
};

// The buffers of a workload, and the bytes around those that variants write: `guard` before and
// after.
struct WorkloadPlan {
  UploadPurpose purpose = UploadPurpose::kVerify;
  std::int64_t guard = 0;
};

// Uploads `work`; the same for every kind of device.
std::unique_ptr<Workload> make_workload(const WorkloadHost& host, const Work& work,
                                        const WorkloadPlan& plan,
                                        std::unique_ptr<Executor> executor);

}  // namespace nf4bench::device
