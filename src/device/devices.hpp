#pragma once

#include "base/file_lock.hpp"
#include "device/device.hpp"
#include "record/device_info.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace nf4bench::device {
struct DeviceOptions {
  std::string config;  // forces a configuration of variants that choose one (Launch::config)
  int threads = 0;     // CPU device: threads to use; 0 = all
  bool shares_buffers = false;  // with other processes, as far as the device can
  int caches_rotated = 0;       // by the sets of a cold sample; 0 = default_rotation()
};

// What a rotation is made of when nobody chooses, in last-level caches. On a GPU times stand still
// from there on (docs/method.md); caches of CPUs are larger, their memory is not.
constexpr int default_rotation(record::DeviceKind kind) {
  return kind == record::DeviceKind::kCuda ? 20 : 5;
}

// Sets of `set_bytes` that a cold sample rotates through, memory permitting, when `cold_bytes` are
// to be touched before a set comes round again. At least one.
constexpr std::int64_t cold_sets(std::int64_t set_bytes, std::int64_t cold_bytes) {
  if (set_bytes <= 0) return 1;
  return (cold_bytes + set_bytes - 1) / set_bytes + 1;
}

// What `list devices` shows.
struct DeviceListing {
  std::vector<record::DeviceInfo> devices;  // CUDA devices first, the CPU last
  std::string cuda_problem;                 // why there is no CUDA device; empty when there is one
};

DeviceListing list_devices();

// Throws Error(kUsage) when `word` is not auto, cpu, cuda or cuda:N; whether there is such a device
// is not asked.
void check_device_name(const std::string& word);

// Opens "auto" (the first CUDA device, else the CPU), "cuda", "cuda:N" or "cpu". Throws
// Error(kUsage) for another word and Error(kDevice) when that device is not there.
std::unique_ptr<Device> open_device(const std::string& name, const DeviceOptions& options);

// The CPU device; always there.
std::unique_ptr<Device> open_cpu_device(const DeviceOptions& options);

// Whether `name` stands for several CUDA devices: "all", "cuda:all" or "cuda:0,2".
bool names_several(const std::string& name);

// The N of each "cuda:N" that such a name stands for; those of a list need not be there. Throws
// Error(kUsage) for another word, and Error(kDevice) for all of none.
std::vector<int> several_devices(const std::string& name);

// All CUDA devices; when there is none, `problem` gets why. Throws Error(kDevice) when one of them
// cannot be asked.
std::vector<record::DeviceInfo> cuda_devices(std::string* problem);

// In cuda_device.cpp, or cuda_absent.cpp for builds without CUDA. The number is that of the devices
// that this process sees; when it is 0, `problem` gets why.
int cuda_device_count(std::string* problem);
record::DeviceInfo cuda_device_info(int index);
std::unique_ptr<Device> open_cuda_device(int index, const DeviceOptions& options);

// Tells runs that use one device at the same time of each other: their times are worth little. The
// lock files lie in the folder that NF4BENCH_LOCKS names, by default that for temporary files; an
// empty NF4BENCH_LOCKS leaves them out.
class DeviceUse {
 public:
  explicit DeviceUse(const record::DeviceInfo& device);

  // One line about another run that was there before this one; empty when there was none.
  std::string others_at_start() const;

  // The same about one that came meanwhile.
  std::string others_meanwhile() const;

 private:
  std::string device_;
  SharedUse use_;
};

}  // namespace nf4bench::device
