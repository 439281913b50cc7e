#pragma once

#include <cstddef>
#include <span>

#include "nf4/format.hpp"
#include "record/verification.hpp"

namespace nf4bench {

// Compares `actual` with `expected`, both row-major values of `type` and of the same length.
Comparison compare_outputs(OutputType type, std::span<const std::byte> expected,
                           std::span<const std::byte> actual);

}  // namespace nf4bench
