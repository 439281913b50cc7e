#pragma once

#include "nf4/tensor.hpp"

#include <compare>
#include <cstdint>
#include <vector>

namespace nf4bench::record {

// What of a tensor decides a kernel's cost, besides the types.
struct Geometry {
  std::vector<std::int64_t> shape;  // of the dequantized tensor, row-major, any rank
  int blocksize = 64;
  nf4::AbsmaxKind absmax_kind = nf4::AbsmaxKind::kNested;

  // The product of the shape.
  std::int64_t elements() const;
  // The last one may be short.
  std::int64_t blocks() const { return nf4::block_count(elements(), blocksize); }

  // clang-tidy 14 takes the comparison with 0 that this is made of for one with a pointer.
  auto operator<=>(const Geometry&) const = default;  // NOLINT(modernize-use-nullptr)
};

}  // namespace nf4bench::record
