#pragma once

#include "device/executor.hpp"

#include <cstddef>
#include <span>

namespace nf4bench::device {

// What is wrong with `actual`, the bytes of an output that was to hold `content` and that the judge
// finds wrong, some time after the sample. `found` and the set are left to the caller.
OutputFault fault_in(const Truth& truth, Content content, std::span<const std::byte> actual);

}  // namespace nf4bench::device
