#pragma once

#include "base/file_lock.hpp"
#include "device/device.hpp"

#include <string>

namespace nf4bench::device {

// Tells runs that use one device at the same time of each other: their times are worth little. The
// lock files lie in the folder that NF4BENCH_LOCKS names, by default that for temporary files; an
// empty NF4BENCH_LOCKS leaves them out.
class DeviceUse {
 public:
  explicit DeviceUse(const record::DeviceInfo& device);

  // One line about another run that was there before this one; empty when there was none.
  std::string company_at_start() const;

  // The same about one that came meanwhile.
  std::string company_meanwhile() const;

 private:
  std::string device_;
  SharedUse use_;
};

}  // namespace nf4bench::device
