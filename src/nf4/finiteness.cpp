#include "nf4/finiteness.hpp"

#include "base/parallel.hpp"
#include "nf4/arithmetic.hpp"
#include "nf4/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <span>

namespace nf4bench::nf4 {
namespace {

constexpr std::int64_t kGrainBlocks = 1 << 14;  // blocks that are worth a thread

// Whether a value of `type` with these bits is neither infinite nor NaN.
bool is_finite(OutputType type, std::uint32_t bits) {
  const std::uint32_t exponent = type == OutputType::kFloat16    ? 0x7c00u
                                 : type == OutputType::kBfloat16 ? 0x7f80u
                                                                 : 0x7f800000u;
  return (bits & exponent) != exponent;
}

std::uint32_t bits_in(OutputType type, float scale) {
  if (type == OutputType::kFloat16) return to_float16_bits(scale);
  if (type == OutputType::kBfloat16) return to_bfloat16_bits(scale);
  return bits_of(scale);
}

std::int64_t non_finite_outputs(const Nf4Tensor& tensor, OutputType type, std::int64_t block) {
  std::array<std::byte, std::size_t{kMaxBlocksize} * sizeof(float)> buffer;
  const std::int64_t first = block * tensor.blocksize;
  const std::int64_t count = std::min<std::int64_t>(tensor.blocksize, tensor.elements - first);
  const std::size_t size = size_in_bytes(type);
  const std::span output = std::span(buffer).first(static_cast<std::size_t>(count) * size);
  reference_dequantize(tensor, type, {first, count}, output);
  std::int64_t found = 0;
  for (std::size_t at = 0; at < output.size(); at += size) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, output.data() + at, size);
    if (!is_finite(type, bits)) ++found;
  }
  return found;
}

}  // namespace

NonFinite count_non_finite(const Nf4Tensor& tensor, OutputType type) {
  std::atomic<std::int64_t> scales = 0;
  std::atomic<std::int64_t> outputs = 0;
  parallel_for(tensor.blocks(), kGrainBlocks, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const float scale = block_scale(tensor, block);
      // The codebook's greatest magnitude is 1, so no output of a block is beyond its scale.
      if (is_finite(type, bits_in(type, scale))) continue;
      if (!std::isfinite(scale)) ++scales;
      outputs += non_finite_outputs(tensor, type, block);
    }
  });
  return {scales, outputs};
}

std::string describe_non_finite(const Nf4Tensor& tensor, OutputType type) {
  const NonFinite found = count_non_finite(tensor, type);
  if (found.scales == 0 && found.outputs == 0) return {};
  return fmt::format("{} of {} scales are infinite or NaN, and so are {} of {} outputs in {}",
                     found.scales, tensor.blocks(), found.outputs, tensor.elements,
                     to_string(type));
}

}  // namespace nf4bench::nf4
