#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/device.hpp"

namespace nf4bench {

// Runs `call`, which asks `device` to run one variant. An Error(kDevice) is that variant's failure
// and its message is returned; empty when the call went well. CUDA reports some faults on every
// later call, whoever makes it: the device is therefore asked for a small upload, and when that
// fails as well the error ends the run, with both messages.
std::optional<std::string> device_failure(Device& device, const std::function<void()>& call);

}  // namespace nf4bench
