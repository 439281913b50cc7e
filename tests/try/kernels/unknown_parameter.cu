// compile_error: the job has no member of this name.
#include "nf4bench_kernel.h"

// nf4bench: grid=ceil(elements/256) block=256
__global__ void decode(const uint8_t* packed, const float* scales, float* output) {}
