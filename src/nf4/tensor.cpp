#include "nf4/tensor.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <span>

namespace nf4bench::nf4 {
namespace {

[[noreturn]] void fail(const Nf4Tensor& tensor, const std::string& problem) {
  const std::string where =
      tensor.source.empty() ? std::string() : fmt::format("{}: ", escaped(tensor.source));
  throw Error(ErrorKind::kInput, "{}tensor \"{}\": {}", where, escaped(tensor.name), problem);
}

void require_length(const Nf4Tensor& tensor, const char* field, std::size_t found,
                    std::int64_t wanted) {
  if (found == static_cast<std::size_t>(wanted)) return;
  fail(tensor, fmt::format("{} holds {} values, but shape {}, blocksize {}, {} absmax wants {}",
                           field, found, shape_to_string(tensor.shape), tensor.blocksize,
                           to_string(tensor.absmax_kind), wanted));
}

void validate_shape(const Nf4Tensor& tensor) {
  std::uint64_t product = 1;
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 1) {
      fail(tensor, fmt::format("shape {} holds the extent {}; every extent must be at least 1",
                               shape_to_string(tensor.shape), extent));
    }
    const auto next = checked_multiply(product, static_cast<std::uint64_t>(extent));
    // A quarter of the range, so that sizes in bytes of any output type stay representable.
    if (!next || *next > static_cast<std::uint64_t>(INT64_MAX) / 4) {
      fail(tensor, fmt::format("shape {} has more elements than 64 bits can address",
                               shape_to_string(tensor.shape)));
    }
    product = *next;
  }
  if (product != static_cast<std::uint64_t>(tensor.elements)) {
    fail(tensor, fmt::format("elements is {}, but shape {} has {}", tensor.elements,
                             shape_to_string(tensor.shape), product));
  }
}

}  // namespace

std::int64_t bytes_read(const Nf4Tensor& tensor) {
  const std::int64_t packed = packed_bytes(tensor.elements);
  constexpr std::int64_t kFloat = sizeof(float);
  if (!tensor.is_nested()) return packed + tensor.blocks() * kFloat;
  return packed + tensor.blocks() + tensor.nested_blocks() * kFloat + kNestedMapEntries * kFloat;
}

void validate(const Nf4Tensor& tensor) {
  validate_shape(tensor);
  if (!is_legal_blocksize(tensor.blocksize)) {
    fail(tensor, fmt::format("blocksize is {}; legal are the powers of two from {} to {}",
                             tensor.blocksize, kMinBlocksize, kMaxBlocksize));
  }
  const bool is_nested = tensor.is_nested();
  require_length(tensor, "the packed weight", tensor.packed.size(), packed_bytes(tensor.elements));
  require_length(tensor, "absmax", tensor.absmax.size(), is_nested ? 0 : tensor.blocks());
  require_length(tensor, "absmax (codes)", tensor.absmax_codes.size(),
                 is_nested ? tensor.blocks() : 0);
  require_length(tensor, "nested_absmax", tensor.nested_absmax.size(),
                 is_nested ? tensor.nested_blocks() : 0);
  require_length(tensor, "nested_quant_map", tensor.nested_map.size(),
                 is_nested ? kNestedMapEntries : 0);
}

std::string shape_to_string(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return "scalar";
  return fmt::format("{}", fmt::join(shape, "x"));
}

std::string fingerprint(const Nf4Tensor& tensor) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(tensor.packed)));
  if (tensor.is_nested()) {
    hash.update(std::as_bytes(std::span(tensor.absmax_codes)));
    hash.update(std::as_bytes(std::span(tensor.nested_absmax)));
    hash.update(std::as_bytes(std::span(tensor.nested_map)));
    hash.update(std::as_bytes(std::span(&tensor.nested_offset, 1)));
  } else {
    hash.update(std::as_bytes(std::span(tensor.absmax)));
  }
  return hash.hex();
}

}  // namespace nf4bench::nf4
