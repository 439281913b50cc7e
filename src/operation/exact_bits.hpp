#pragma once

#include "catalog.hpp"
#include "nf4/format.hpp"
#include "record/verification.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace nf4bench::operation {

// The judge of operations whose outputs are defined bit for bit. Two NaN are equal, whatever their
// bits; everything else must agree, the sign of zero included.

// Compares `actual` with `expected`, both row-major values of `type` and of the same length.
record::Verification compare_outputs(nf4::OutputType type, std::span<const std::byte> expected,
                                     std::span<const std::byte> actual);

// What a device found that compared so many values.
record::Verification read_mismatches(const kernels::DeviceVerdict& verdict, std::int64_t compared);

// "3 of 64 elements differ from the reference, the first at 5, by up to 1 ulp".
std::string describe_mismatch(const record::Verification& found);

}  // namespace nf4bench::operation
