#include "bench/device_failure.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace nf4bench {

namespace {

// The smallest tensor that every device takes: one plain block.
Nf4Tensor probe_tensor() {
  Nf4Tensor tensor;
  tensor.name = "probe";
  tensor.source = "probe";
  tensor.shape = {64};
  tensor.elements = 64;
  tensor.absmax_kind = AbsmaxKind::kPlain;
  tensor.packed.assign(32, 0x77);
  tensor.absmax.assign(1, 1.0f);
  return tensor;
}

void require_working(Device& device, const std::string& cause) {
  try {
    device.upload(probe_tensor(), OutputType::kFloat32, UploadPurpose::kVerify);
  } catch (const Error& error) {
    throw Error(ErrorKind::kDevice,
                fmt::format("{}; after that the device works no more: {}", cause, error.what()));
  }
}

}  // namespace

std::optional<std::string> device_failure(Device& device, const std::function<void()>& call) {
  try {
    call();
    return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDevice) throw;
    require_working(device, error.what());
    return error.what();
  }
}

}  // namespace nf4bench
