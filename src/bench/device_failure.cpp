#include "bench/device_failure.hpp"

#include <fmt/format.h>

namespace nf4bench::bench {

namespace {

// The smallest tensor that every device takes: one plain block.
nf4::Nf4Tensor probe_tensor() {
  nf4::Nf4Tensor tensor;
  tensor.name = "probe";
  tensor.source = "probe";
  tensor.shape = {64};
  tensor.elements = 64;
  tensor.absmax_kind = nf4::AbsmaxKind::kPlain;
  tensor.packed.assign(32, 0x77);
  tensor.absmax.assign(1, 1.0f);
  return tensor;
}

// Why not even a small upload works any more; empty when it does.
std::string problem_of(device::Device& device) {
  try {
    device.upload(probe_tensor(), nf4::OutputType::kFloat32, device::UploadPurpose::kVerify);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

DeviceLost::DeviceLost(const Caller& caller, const std::string& cause, const std::string& after)
    : Error(ErrorKind::kDevice, fmt::format("{}: {}; after that the device works no more: {}",
                                            caller.name, cause, after)),
      caller_(caller),
      cause_(cause) {}

std::optional<std::string> device_failure(const RunContext& context, const Caller& caller,
                                          const std::function<void()>& call) {
  const Watchdog::Watch watch(context.watchdog, caller);
  try {
    call();
    return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDevice) throw;
    const std::string after = problem_of(context.device);
    if (!after.empty()) throw DeviceLost(caller, error.what(), after);
    return error.what();
  }
}

}  // namespace nf4bench::bench
