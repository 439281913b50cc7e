#pragma once

// Quantization as bitsandbytes does it, for making test data. Its own quantizer divides
// approximately, so a code on the very border between two may differ; decoding is what is exact.

#include "nf4/tensor.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace nf4bench::nf4 {

// The code whose value is nearest to `value`; the lower of two equally near; 0 for NaN.
int nearest_code(float value);

// Quantizes one block: writes packed_bytes(weights.size()) bytes and returns the block's absmax.
// The code of zero fills the last byte of an odd count.
float quantize_block(std::span<const float> weights, std::uint8_t* packed);

// Stores `absmax` as nested state: subtracts the mean, then 256 values at a time share a scale and
// become the nearest entries of the dynamic map.
void nest_absmax(const std::vector<float>& absmax, Nf4Tensor& tensor);

// The 256-entry signed dynamic map bitsandbytes quantizes absmax with, ascending.
std::vector<float> dynamic_map();

}  // namespace nf4bench::nf4
