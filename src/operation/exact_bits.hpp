#pragma once

#include "nf4/format.hpp"
#include "record/verification.hpp"

#include <cstddef>
#include <span>

namespace nf4bench::operation {

// Compares `actual` with `expected`, both row-major values of `type` and of the same length.
record::Verification compare_outputs(nf4::OutputType type, std::span<const std::byte> expected,
                                     std::span<const std::byte> actual);

}  // namespace nf4bench::operation
