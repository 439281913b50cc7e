#include "peer/cuda_tools.hpp"

#include "cuda/dequantize/add_offset.hpp"
#include "cuda/default_stream.hpp"

namespace nf4bench {

std::optional<CudaTools> cuda_tools() {
  return CudaTools{.add_offset = cuda::launch_add_offset,
                   .default_stream_waits_for = cuda::default_stream_waits_for,
                   .wait_for_default_stream = cuda::wait_for_default_stream};
}

}  // namespace nf4bench
