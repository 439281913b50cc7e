#include "peer/cuda_tools.hpp"

#include "cuda/default_stream.hpp"
#include "cuda/dequantize/add_offset.hpp"

namespace nf4bench::peer {

std::optional<CudaTools> cuda_tools() {
  return CudaTools{.add_offset = kernels::cuda::launch_add_offset,
                   .default_stream_waits_for = kernels::cuda::default_stream_waits_for,
                   .wait_for_default_stream = kernels::cuda::wait_for_default_stream};
}

}  // namespace nf4bench::peer
