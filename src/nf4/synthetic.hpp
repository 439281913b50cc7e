#pragma once

#include "nf4/tensor.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::nf4 {
// How the float weights that a synthetic tensor is quantized from are drawn.
enum class Distribution : std::uint8_t {
  kRandomCodes,  // no weights at all: random nibbles under log-normal scales, drawn at memory speed
  kNormal,       // N(0, 0.02): an initialised linear layer
  kOutlier,      // N(0, 0.02) with one weight in 1000 scaled by 20: a trained layer
  kUniform,      // uniform in [-0.05, 0.05)
  kExtremes,     // every special case at once: zero blocks, subnormal and overflowing scales
};

// What to make. The same spec gives the same bytes on every machine.
struct SyntheticSpec {
  std::string name = "weight";
  std::vector<std::int64_t> shape;
  int blocksize = 64;
  AbsmaxKind absmax_kind = AbsmaxKind::kNested;
  OutputType dtype = OutputType::kBfloat16;
  Distribution distribution = Distribution::kNormal;
  std::uint64_t seed = 42;
};

// Seeds for the tensors of one run or file. A shape gets the same ones whatever other shapes stand
// beside it: data must not depend on it, because times do depend on data. No two are the same.
class SyntheticSeeds {
 public:
  explicit SyntheticSeeds(std::uint64_t seed) : seed_(seed) {}

  // For the next tensor of `shape`.
  std::uint64_t next(const std::vector<std::int64_t>& shape);

 private:
  std::uint64_t seed_;
  std::map<std::vector<std::int64_t>, std::int64_t> given_;
};

// Draws weights and quantizes them blockwise as bitsandbytes does (absmax scaling, nearest code,
// absmax itself quantized to the dynamic map in blocks of 256 after subtracting its mean when
// nested). Uses all cores. Throws Error(kUsage) for a spec that no file could hold.
Nf4Tensor make_synthetic(const SyntheticSpec& spec);

// Quantization as bitsandbytes does it, for making test data. Its own quantizer divides
// approximately, so a code on the very border between two may differ; decoding is what is exact.

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
