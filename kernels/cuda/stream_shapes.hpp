#pragma once

#include <vector>

#include "variant.hpp"

namespace nf4bench::cuda {

// The access shapes of stream_shapes.cu.
std::vector<Variant> stream_shapes();

}  // namespace nf4bench::cuda
