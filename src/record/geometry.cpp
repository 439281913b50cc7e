#include "record/geometry.hpp"

#include <fmt/format.h>

namespace nf4bench::record {

std::string describe(const Stack& stack) {
  const std::string activation =
      stack.activation ? fmt::format(" {}", to_string(*stack.activation)) : "";
  return fmt::format("{}{}{} top {}", to_string(stack.part), activation,
                     stack.transposed ? " transposed" : "", stack.top_k);
}

std::string describe_shape(const Geometry& geometry) {
  const std::string shape = nf4::shape_to_string(geometry.shape);
  return geometry.stack ? fmt::format("{} {}", shape, describe(*geometry.stack)) : shape;
}

std::int64_t Geometry::elements() const {
  // Unsigned, because the partial products of a shape that ends in 0 may exceed 63 bits.
  std::uint64_t product = 1;
  for (const std::int64_t extent : shape) product *= static_cast<std::uint64_t>(extent);
  return static_cast<std::int64_t>(product);
}

}  // namespace nf4bench::record
