#pragma once

#include "nf4/tensor.hpp"
#include "problem.hpp"
#include "record/verification.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace nf4bench::operation {

// What is wrong with an output, for whoever is to mend the kernel that wrote it.

// Of a decoded weight, in which compare_outputs() found something wrong. The pattern holds for all
// wrong elements that are looked at: the first ones, and some from all over the output.
record::FirstWrong explain_decoded(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                   std::span<const std::byte> expected,
                                   std::span<const std::byte> actual,
                                   const record::Verification& found);

// Of a matrix product, in which compare_products() did.
record::FirstWrong explain_product(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                   std::span<const std::byte> expected,
                                   std::span<const std::byte> actual,
                                   const record::Verification& found);

// "; [3, 17] is 0x3c00 (1) and should be 0xbc00 (-1), nibble 0xf of block 2 with the scale 1: the
// two nibbles of a byte are swapped"; empty where nobody looked.
std::string describe(const std::optional<record::FirstWrong>& wrong);

}  // namespace nf4bench::operation
