// The CUDA side of a build without CUDA: there is none, and this says how to get one.

#include "base/error.hpp"
#include "device/devices.hpp"

namespace nf4bench::device {
namespace {

constexpr const char* kProblem =
    "this nf4bench was built without CUDA; install the CUDA Toolkit 12 or later and build again "
    "with -DNF4BENCH_CUDA=ON";

}  // namespace

std::vector<record::DeviceInfo> cuda_devices(std::string* problem) {
  if (problem != nullptr) *problem = kProblem;
  return {};
}

std::unique_ptr<Device> open_cuda_device(int, const DeviceOptions&) {
  throw Error(ErrorKind::kDevice, kProblem);
}

}  // namespace nf4bench::device
