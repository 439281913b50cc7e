#include "plan/shape.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "nf4/format.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace nf4bench::plan {
namespace {

// The whole of `text` as a positive decimal number; empty when it is none or does not fit.
std::optional<std::int64_t> positive_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

bool fits_elements(const std::vector<std::int64_t>& shape) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : shape) {
    const auto product = checked_multiply(elements, static_cast<std::uint64_t>(extent));
    if (!product || *product > std::numeric_limits<std::int64_t>::max()) return false;
    elements = *product;
  }
  return true;
}

}  // namespace

std::vector<std::int64_t> parse_shape(const std::string& word, const char* option) {
  std::vector<std::int64_t> shape;
  std::string_view rest = word;
  while (true) {
    const std::size_t cross = rest.find('x');
    const std::optional<std::int64_t> extent = positive_number(rest.substr(0, cross));
    if (!extent) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("{}: \"{}\" is not a shape; wanted positive numbers joined by x, "
                              "as in 14336x4096 (out_features x in_features)",
                              option, escaped(word)));
    }
    shape.push_back(*extent);
    if (cross == std::string_view::npos) break;
    rest.remove_prefix(cross + 1);
  }
  if (!fits_elements(shape)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: \"{}\" has more elements than a 63-bit count can hold", option,
                            escaped(word)));
  }
  return shape;
}

int check_blocksize(int blocksize, const char* option) {
  if (nf4::is_legal_blocksize(blocksize)) return blocksize;
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: the blocksize {} is not a power of two from {} to {}", option,
                          blocksize, nf4::kMinBlocksize, nf4::kMaxBlocksize));
}

}  // namespace nf4bench::plan
