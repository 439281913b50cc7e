#include "peer/cuda_tools.hpp"

#include "cuda/default_stream.hpp"
#include "cuda/dequantize/add_offset.hpp"
#include "cuda/device_codebook.hpp"
#include "cuda/matmul/decode_cublas.hpp"

namespace nf4bench::peer {

std::optional<CudaTools> cuda_tools() {
  return CudaTools{.add_offset = kernels::cuda::launch_add_offset,
                   .default_stream_waits_for = kernels::cuda::default_stream_waits_for,
                   .wait_for_default_stream = kernels::cuda::wait_for_default_stream,
                   .codebook = kernels::cuda::device_codebook,
                   .decode_then_cublas = kernels::cuda::decode_then_cublas};
}

}  // namespace nf4bench::peer
