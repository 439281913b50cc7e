#pragma once

#include "peer/bitsandbytes/decoders.hpp"
#include "peer/cuda_tools.hpp"
#include "variant.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace nf4bench::peer {

// What one of bitsandbytes' functions decodes: codes in blocks of `blocksize`, to values that are
// scaled by one absmax for each block.
struct BlockwiseCodes {
  const float* map = nullptr;  // the value of each code; null where the function has its own
  const std::uint8_t* codes = nullptr;
  const float* absmax = nullptr;
  int blocksize = 0;
  std::int64_t count = 0;  // values
};

// The CUDA functions of libbitsandbytes, and how they are called. Scales are decoded as
// out[b] = map[codes[b]] * absmax[b / blocksize]; for weights the map is ignored.
struct BitsandbytesLibrary : Decoders {
  // Products of tokens by weights that are decoded on the way, and of one token, by OutputType;
  // null in builds without them.
  std::array<void*, 3> gemm = {};
  std::array<void*, 3> gemv = {};
  // Builds before 0.44 take no stream and launch on the default stream.
  bool takes_stream = true;

  // Enqueues one of the functions above; on the default stream where none is taken.
  void call(void* function, const BlockwiseCodes& input, void* out, CUstream_st* stream) const;
};

// True when `library` exports any of the functions that dequantize on a CUDA device.
bool is_bitsandbytes(const SharedLibrary& library);

// Throws Error(kInput) naming those of them that are missing.
BitsandbytesLibrary find_bitsandbytes(const SharedLibrary& library);

// Enqueues the two launches that decode the scales of a nested `job` into its workspace; nothing
// for a plain one.
void decode_scales(const BitsandbytesLibrary& library, const CudaTools& tools,
                   const kernels::Job& job, const kernels::Launch& launch);

// Bytes of the workspace that they need.
std::size_t scales_bytes(const kernels::Problem& problem);

// `chain_name`: the three launches of Unsloth's fast_dequantize (absmax, offset, weight; plain
// tensors need only the last one). `decode_name`: only the last launch, on scales decoded
// beforehand. The names are borrowed.
std::vector<kernels::Variant> bitsandbytes_variants(const BitsandbytesLibrary& library,
                                                    const CudaTools& tools, const char* chain_name,
                                                    const char* decode_name);

}  // namespace nf4bench::peer
