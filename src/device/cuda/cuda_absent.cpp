// The CUDA side of a build without CUDA: there is none, and this says how to get one.

#include "base/error.hpp"
#include "device/devices.hpp"
#include "device/shared_buffers.hpp"

namespace nf4bench::device {
namespace {

constexpr const char* kProblem =
    "this nf4bench was built without CUDA; install the CUDA Toolkit 12.5 or later and build "
    "again with -DNF4BENCH_CUDA=ON (pip install . -C cmake.define.NF4BENCH_CUDA=ON)";

}  // namespace

int cuda_device_count(std::string* problem) {
  *problem = kProblem;
  return 0;
}

record::DeviceInfo cuda_device_info(int) {
  throw Error(ErrorKind::kDevice, kProblem);
}

std::unique_ptr<Device> open_cuda_device(int, const DeviceOptions&) {
  throw Error(ErrorKind::kDevice, kProblem);
}

std::unique_ptr<GuestDevice> make_cuda_guest(const std::string&) {
  throw Error(ErrorKind::kDevice, kProblem);
}

}  // namespace nf4bench::device
