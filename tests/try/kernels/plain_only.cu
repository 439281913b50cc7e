// unsupported: its parameters know plain scales only.
#include "nf4bench_kernel.h"

// nf4bench: grid=ceil(elements/256) block=256
__global__ void decode(const uint8_t* packed, const float* absmax, void* output, int64_t elements,
                       int block_shift) {}
