#pragma once

namespace nf4bench::kernels::cuda {

// The codebook, 16 floats, in the memory of the current device, for kernels of other libraries that
// read it there. Null when the device refuses.
const float* device_codebook();

}  // namespace nf4bench::kernels::cuda
