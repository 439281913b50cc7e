#pragma once

#include "problem.hpp"

namespace nf4bench::peer {

// Whether bitsandbytes 0.50 multiplies `problem` by its kernel that decodes as it goes
// (cgemm_4bit_*), or decodes the weight into memory and leaves the product to cuBLAS. Its Python
// code chooses by the device, the type and the sizes; recorded answers of that code are in
// tests/peer/bitsandbytes_choices.txt.
bool bitsandbytes_fuses(const kernels::Problem& problem, const kernels::DeviceFacts& device);

}  // namespace nf4bench::peer
