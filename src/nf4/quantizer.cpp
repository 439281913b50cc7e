#include "nf4/quantizer.hpp"

#include "base/parallel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace nf4bench::nf4 {
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
