#pragma once

namespace nf4bench::kernels::cpu {

// The instruction set that `simd` runs with on this machine, e.g. "AVX3" for AVX-512.
const char* simd_target();

}  // namespace nf4bench::kernels::cpu
