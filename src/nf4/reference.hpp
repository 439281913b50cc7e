#pragma once

#include "nf4/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nf4bench::nf4 {

// The scale of block `block`, bit for bit as bitsandbytes' CUDA path computes it.
float block_scale(const Nf4Tensor& tensor, std::int64_t block);

// Decodes elements [first, first + count) to `type`, scalar and unhurried: the truth that every
// variant is compared with. `output` holds count * size_in_bytes(type) bytes, element `first`
// first.
void reference_dequantize(const Nf4Tensor& tensor, OutputType type, std::int64_t first,
                          std::int64_t count, std::span<std::byte> output);

// The whole tensor, decoded on all cores by reference_dequantize().
std::vector<std::byte> reference_dequantize(const Nf4Tensor& tensor, OutputType type);

}  // namespace nf4bench::nf4
