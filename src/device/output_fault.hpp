#pragma once

#include "device/executor.hpp"

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace nf4bench::device {

// What is wrong with `actual`, the bytes of an output that was to hold `content` and that the judge
// finds wrong, some time after the sample. `found` and the set are left to the caller.
OutputFault fault_in(const Truth& truth, Content content, std::span<const std::byte> actual);

// True when `actual` was right for what the inputs held before some of `changes`, the oldest first.
bool is_of_earlier_content(const Truth& truth, Content content, std::span<const std::byte> actual,
                           const std::deque<std::vector<ChangedOutputs>>& changes);

}  // namespace nf4bench::device
