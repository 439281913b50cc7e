#pragma once

// The built-in variants, simplest first. Explicit lists: registration by static objects is dropped
// by linkers, and link order is no order.

#include "variant.hpp"

#include <vector>

namespace nf4bench::kernels {

// Variants for the CPU device; "reference" is the first.
const std::vector<Variant>& cpu_variants();

// Variants for CUDA devices. Only in builds with CUDA.
const std::vector<Variant>& cuda_variants();

// Kernels that move a job's bytes without decoding them, in several access shapes: the ceiling of
// what a variant can reach on that geometry. Only in builds with CUDA.
const std::vector<Variant>& cuda_stream_shapes();

}  // namespace nf4bench::kernels
