#include "nf4/synthetic.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "nf4/arithmetic.hpp"
#include "nf4/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <unistd.h>

namespace nf4bench::nf4 {
namespace {

// Independent streams of one seed.
enum Stream : std::uint64_t { kWeights, kOutliers, kNibbles, kScales, kAbsmaxCodes };

// Blocks a thread takes at a time: a multiple of 256, so that nested blocks are never shared.
constexpr std::int64_t kBlockGrain = 1024;

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

[[noreturn]] void fail(const SyntheticSpec& spec, const std::string& problem) {
  throw Error(ErrorKind::kUsage, "synthetic tensor \"{}\": {}", escaped(spec.name), problem);
}

std::int64_t checked_elements(const SyntheticSpec& spec) {
  if (spec.shape.empty()) fail(spec, "the shape is empty; give at least one extent");
  std::uint64_t product = 1;
  for (const std::int64_t extent : spec.shape) {
    if (extent < 1) fail(spec, fmt::format("extent {} in the shape; wanted at least 1", extent));
    product = checked_multiply(product, static_cast<std::uint64_t>(extent)).value_or(UINT64_MAX);
    if (product > static_cast<std::uint64_t>(kMaxElements)) {
      fail(spec, fmt::format("shape {} has more than {} elements", shape_to_string(spec.shape),
                             kMaxElements));
    }
  }
  return static_cast<std::int64_t>(product);
}

// The tensor with every length decided and no data drawn.
Nf4Tensor make_frame(const SyntheticSpec& spec) {
  Nf4Tensor tensor;
  tensor.name = spec.name;
  tensor.source = "synthetic";
  tensor.shape = spec.shape;
  tensor.elements = checked_elements(spec);
  tensor.blocksize = spec.blocksize;
  tensor.dtype = spec.dtype;
  tensor.absmax_kind = spec.absmax_kind;
  if (!is_legal_blocksize(spec.blocksize)) {
    fail(spec, fmt::format("blocksize {}; legal are the powers of two from {} to {}",
                           spec.blocksize, kMinBlocksize, kMaxBlocksize));
  }
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (memory > 0 && static_cast<double>(bytes_read(tensor)) > memory) {
    fail(spec, fmt::format("shape {} needs {} bytes and this machine has {:.0f}; make it smaller",
                           shape_to_string(spec.shape), bytes_read(tensor), memory));
  }
  tensor.packed.resize(static_cast<std::size_t>(packed_bytes(tensor.elements)));
  return tensor;
}

float draw_weight(const SyntheticSpec& spec, const RandomStream& weights,
                  const RandomStream& outliers, std::int64_t index) {
  constexpr double kSigma = 0.02;
  const std::uint64_t word = weights.at(index);
  if (spec.distribution == Distribution::kUniform) {
    return (static_cast<float>(word >> 40) * 0x1p-24f - 0.5f) * 0.1f;
  }
  const double normal = kSigma * normal_quantile(to_unit(word));
  const bool is_outlier =
      spec.distribution == Distribution::kOutlier && outliers.at(index) % 1000 == 0;
  return static_cast<float>(is_outlier ? 20.0 * normal : normal);
}

// Draws and quantizes all weights; returns the absmax of each block.
std::vector<float> quantize_weights(const SyntheticSpec& spec, Nf4Tensor& tensor) {
  const RandomStream weights(spec.seed, kWeights);
  const RandomStream outliers(spec.seed, kOutliers);
  std::vector<float> absmax(static_cast<std::size_t>(tensor.blocks()));
  parallel_for(tensor.blocks(), kBlockGrain, [&](std::int64_t first, std::int64_t last) {
    std::array<float, kMaxBlocksize> drawn{};
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t begin = block * tensor.blocksize;
      const std::int64_t length = std::min<std::int64_t>(tensor.blocksize, tensor.elements - begin);
      const auto values = std::span(drawn).first(static_cast<std::size_t>(length));
      for (std::int64_t i = 0; i < length; ++i) {
        values[static_cast<std::size_t>(i)] = draw_weight(spec, weights, outliers, begin + i);
      }
      absmax[static_cast<std::size_t>(block)] =
          quantize_block(values, tensor.packed.data() + begin / 2);
    }
  });
  return absmax;
}

// Fills `bytes` with random bytes, the same whatever the machine's byte order.
void fill_random(const RandomStream& stream, std::vector<std::uint8_t>& bytes) {
  constexpr std::int64_t kWord = 8;
  const auto count = static_cast<std::int64_t>(bytes.size());
  parallel_for(count, std::int64_t{1} << 18, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; i += kWord) {
      std::uint64_t word = stream.at(i / kWord);
      if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
      std::memcpy(bytes.data() + i, &word, static_cast<std::size_t>(std::min(kWord, last - i)));
    }
  });
}

// Log-normal scales around 0.06, such as the blocks of trained layers have.
std::vector<float> draw_scales(const SyntheticSpec& spec, std::int64_t blocks) {
  const RandomStream stream(spec.seed, kScales);
  std::vector<float> scales(static_cast<std::size_t>(blocks));
  parallel_for(blocks, kBlockGrain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const double normal = normal_quantile(to_unit(stream.at(block)));
      scales[static_cast<std::size_t>(block)] =
          static_cast<float>(0.06 * portable_exp(0.25 * normal));
    }
  });
  return scales;
}

// Scales that go wrong first: zeros, subnormals, products that underflow, values at which half
// precision turns subnormal or infinite, the largest float, infinities and NaN.
constexpr float kExtremeScales[] = {
    0.0f,
    -0.0f,
    std::numeric_limits<float>::denorm_min(),
    -0x1.fffffcp-127f,
    std::numeric_limits<float>::min(),
    -0x1.8p-126f,
    0x1p-124f,
    0x1p-133f,
    0x1p-24f,
    0x1.8p-25f,
    0x1p-14f,
    -0x1.ffep-15f,
    65504.0f,
    65519.996f,
    65520.0f,
    -7e4f,
    1e9f,
    0x1.fffffep+127f,
    -0x1.fefffep+127f,
    0x1.ffp+127f,
    std::numeric_limits<float>::infinity(),
    -std::numeric_limits<float>::infinity(),
    std::numeric_limits<float>::quiet_NaN(),
    1.0f,
    -0.03f,
};

// Half of the blocks take their scales from the list above in turn, the other half has random bits.
std::vector<float> draw_extreme_scales(const SyntheticSpec& spec, std::int64_t blocks) {
  const RandomStream stream(spec.seed, kScales);
  const std::uint64_t start = stream.at(-1);
  std::vector<float> scales;
  scales.reserve(static_cast<std::size_t>(blocks));
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::uint64_t walk = start + static_cast<std::uint64_t>(block);
    scales.push_back(walk % 2 == 0 ? kExtremeScales[walk / 2 % std::size(kExtremeScales)]
                                   : float_of(static_cast<std::uint32_t>(stream.at(block))));
  }
  return scales;
}

void draw_extremes(const SyntheticSpec& spec, Nf4Tensor& tensor) {
  fill_random(RandomStream(spec.seed, kNibbles), tensor.packed);
  if (!tensor.is_nested()) {
    tensor.absmax = draw_extreme_scales(spec, tensor.blocks());
    return;
  }
  // No offset, one that swallows small scales, a subnormal one, and a negative one.
  constexpr float kOffsets[] = {0.0f, 0.03f, 0x1p-130f, -0x1p-127f, -0.0f, -1.5f};
  tensor.nested_offset = kOffsets[spec.seed % std::size(kOffsets)];
  tensor.nested_map = dynamic_map();
  tensor.nested_absmax = draw_extreme_scales(spec, tensor.nested_blocks());
  tensor.absmax_codes.resize(static_cast<std::size_t>(tensor.blocks()));
  fill_random(RandomStream(spec.seed, kAbsmaxCodes), tensor.absmax_codes);
}

// The nibble behind an odd last element is written as bitsandbytes writes it: the code of zero.
void set_padding(Nf4Tensor& tensor) {
  if (tensor.elements % 2 == 0) return;
  tensor.packed.back() = static_cast<std::uint8_t>((tensor.packed.back() & 0xf0u) | 7u);
}

}  // namespace

std::uint64_t SyntheticSeeds::next(const std::vector<std::int64_t>& shape) {
  std::uint64_t seed = seed_;
  for (const std::int64_t extent : shape) {
    seed = RandomStream(seed, static_cast<std::uint64_t>(extent)).at(0);
  }
  return RandomStream(seed, 0).at(given_[shape]++);  // no extent is 0
}

Nf4Tensor make_synthetic(const SyntheticSpec& spec) {
  Nf4Tensor tensor = make_frame(spec);
  if (spec.distribution == Distribution::kExtremes) {
    draw_extremes(spec, tensor);
    set_padding(tensor);
    validate(tensor);
    return tensor;
  }
  std::vector<float> absmax;
  if (spec.distribution == Distribution::kRandomCodes) {
    fill_random(RandomStream(spec.seed, kNibbles), tensor.packed);
    absmax = draw_scales(spec, tensor.blocks());
  } else {
    absmax = quantize_weights(spec, tensor);
  }
  set_padding(tensor);
  if (tensor.is_nested()) {
    nest_absmax(absmax, tensor);
  } else {
    tensor.absmax = std::move(absmax);
  }
  validate(tensor);
  return tensor;
}

namespace {

// Borders between neighbouring codes; a value above kBorders[i] belongs to a code above i.
constexpr std::array<float, kCodes - 1> kBorders = [] {
  std::array<float, kCodes - 1> borders{};
  for (int code = 0; code < kCodes - 1; ++code) {
    borders[static_cast<std::size_t>(code)] =
        static_cast<float>((double{codebook_value(code)} + double{codebook_value(code + 1)}) / 2.0);
  }
  return borders;
}();

constexpr int kCodeOfZero = 7;

// Index of the entry nearest to `value` in an ascending map; 0 for NaN.
std::uint8_t nearest_entry(const std::vector<float>& map, float value) {
  const auto above = std::ranges::lower_bound(map, value);
  if (above == map.begin()) return 0;
  if (above == map.end()) return static_cast<std::uint8_t>(map.size() - 1);
  const auto below = std::prev(above);
  const auto nearest = value - *below <= *above - value ? below : above;
  return static_cast<std::uint8_t>(std::distance(map.begin(), nearest));
}

float greatest_magnitude(std::span<const float> values) {
  float greatest = 0.0f;
  for (const float value : values) greatest = std::max(greatest, std::fabs(value));
  return greatest;
}

// Appends the positive and negative values of one decade: the middles of 2^decade equal steps from
// 0.1 to 1, scaled by 10^(decade - 6). The roundings are those of torch's linspace, which fuses
// the multiplication and the addition and counts from the nearer end.
void append_decade(int decade, std::vector<float>& map) {
  constexpr float kPowers[] = {1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f, 1.0f};
  const int steps = 1 << decade;
  const int points = steps + 1;
  const float step = (1.0f - 0.1f) / static_cast<float>(steps);
  const auto border = [&](int k) {
    if (k < points / 2) return std::fma(step, static_cast<float>(k), 0.1f);
    return std::fma(-step, static_cast<float>(steps - k), 1.0f);
  };
  for (int k = 0; k < steps; ++k) {
    const float value = (border(k) + border(k + 1)) / 2.0f * kPowers[decade];
    map.push_back(value);
    map.push_back(-value);
  }
}

}  // namespace

int nearest_code(float value) {
  int code = 0;
  for (const float border : kBorders) code += value > border ? 1 : 0;
  return code;
}

float quantize_block(std::span<const float> weights, std::uint8_t* packed) {
  const float absmax = greatest_magnitude(weights);
  const float inverse = 1.0f / absmax;  // infinite for a block of zeros: 0 * inf is NaN, code 0
  for (std::size_t i = 0; i < weights.size(); i += 2) {
    const int high = nearest_code(weights[i] * inverse);
    const int low = i + 1 < weights.size() ? nearest_code(weights[i + 1] * inverse) : kCodeOfZero;
    packed[i / 2] = static_cast<std::uint8_t>((high << 4) | low);
  }
  return absmax;
}

void nest_absmax(const std::vector<float>& absmax, Nf4Tensor& tensor) {
  double sum = 0.0;
  for (const float value : absmax) sum += double{value};
  const auto count = static_cast<std::int64_t>(absmax.size());
  const auto offset = static_cast<float>(sum / static_cast<double>(count));
  tensor.nested_offset = offset;
  tensor.nested_map = dynamic_map();
  tensor.absmax_codes.resize(absmax.size());
  tensor.nested_absmax.resize(static_cast<std::size_t>(block_count(count, kNestedBlocksize)));
  parallel_for(count, 64 * kNestedBlocksize, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t start = first; start < last; start += kNestedBlocksize) {
      std::array<float, kNestedBlocksize> centred{};
      const auto length =
          static_cast<std::size_t>(std::min<std::int64_t>(kNestedBlocksize, last - start));
      const auto begin = static_cast<std::size_t>(start);
      for (std::size_t i = 0; i < length; ++i) centred[i] = absmax[begin + i] - offset;
      const float scale = greatest_magnitude(std::span(centred).first(length));
      const float inverse = 1.0f / scale;
      tensor.nested_absmax[begin / kNestedBlocksize] = scale;
      for (std::size_t i = 0; i < length; ++i) {
        tensor.absmax_codes[begin + i] = nearest_entry(tensor.nested_map, centred[i] * inverse);
      }
    }
  });
}

std::vector<float> dynamic_map() {
  std::vector<float> map = {0.0f, 1.0f};
  map.reserve(kNestedMapEntries);
  for (int decade = 0; decade < 7; ++decade) append_decade(decade, map);
  std::ranges::sort(map);
  return map;
}

}  // namespace nf4bench::nf4
