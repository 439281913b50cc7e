#include "record/geometry.hpp"

namespace nf4bench::record {

std::int64_t Geometry::elements() const {
  // Unsigned, because the partial products of a shape that ends in 0 may exceed 63 bits.
  std::uint64_t product = 1;
  for (const std::int64_t extent : shape) product *= static_cast<std::uint64_t>(extent);
  return static_cast<std::int64_t>(product);
}

}  // namespace nf4bench::record
