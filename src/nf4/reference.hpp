#pragma once

#include "nf4/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nf4bench::nf4 {

// The scale of block `block`, bit for bit as bitsandbytes' CUDA path computes it.
float block_scale(const Nf4Tensor& tensor, std::int64_t block);

// Elements [first, first + count) of a tensor.
struct ElementRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Decodes `range` to `type`: the truth that every variant is compared with. Plain scalar code on
// one core, without a trick that a kernel could share. `output` holds size_in_bytes(type) bytes for
// each element of the range. Throws Error(kInput) when the range or `output` does not fit.
void reference_dequantize(const Nf4Tensor& tensor, OutputType type, ElementRange range,
                          std::span<std::byte> output);

// The whole tensor, its ranges shared out among all cores.
std::vector<std::byte> reference_dequantize(const Nf4Tensor& tensor, OutputType type);

}  // namespace nf4bench::nf4
