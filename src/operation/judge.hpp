#pragma once

#include "catalog.hpp"
#include "nf4/format.hpp"
#include "operation/product_truth.hpp"
#include "record/verification.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

// How outputs of a matrix product are judged. No two kernels sum in the same order, so that an
// output has a budget instead of bits. With u the unit roundoff of the type, an output of exact
// weights is within
//   u |value| + 8 sqrt(inputs) 2^-23 reach + step
// of the truth: its own rounding, and what float32 sums lose (tensor cores cut digits off, hence
// 2^-23 for each step and not half of it); step is the smallest of the type. Weights of which
// codebook value, scale and product are each rounded to 16 bits add 4 u spread, and inputs that are
// off themselves 4 times what ProductTruth says they pass on. Independent errors
// of up to u exceed that in fewer than one output of 1,000 whatever their distribution (Hoeffding),
// and in fewer than one of 10^11 when they are uniform. What is beyond that is wrong. So is NaN or
// infinity where the truth is in range and no sum of float32 can overflow on the way to it, and a
// number where the truth is not in range.
struct ErrorBound {
  nf4::OutputType type = nf4::OutputType::kBfloat16;
  std::int64_t inputs = 0;  // K
};

// What outputs of this truth may be.
std::vector<kernels::ProductBound> bounds_of(const ErrorBound& bound,
                                             std::span<const ProductTruth> truth);

// Bounds as the bytes that an operation's reference gives, and back.
std::vector<std::byte> bytes_of(std::span<const kernels::ProductBound> bounds);
std::vector<kernels::ProductBound> bounds_in(std::span<const std::byte> bytes);

// Holds `actual`, values of `type`, to the bounds, output by output.
record::Verification compare_products(nf4::OutputType type,
                                      std::span<const kernels::ProductBound> bounds,
                                      std::span<const std::byte> actual);

// What a device found that holds `compared` outputs to bounds.
record::Verification read_product_verdict(const kernels::DeviceVerdict& verdict,
                                          std::int64_t compared);

// Why an output with `found` is wrong, in words.
std::string describe_error(const record::Verification& found);

}  // namespace nf4bench::operation
