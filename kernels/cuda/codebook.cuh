#pragma once

#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// The codebook in constant memory: for one read a thread. A table in code would cost 32 selects.
static __constant__ float kCodebook[kCodes] = {
    codebook_value(0),  codebook_value(1),  codebook_value(2),  codebook_value(3),
    codebook_value(4),  codebook_value(5),  codebook_value(6),  codebook_value(7),
    codebook_value(8),  codebook_value(9),  codebook_value(10), codebook_value(11),
    codebook_value(12), codebook_value(13), codebook_value(14), codebook_value(15)};

}  // namespace nf4bench::kernels::cuda
