#pragma once

#include "base/shared_library.hpp"
#include "variant.hpp"

#include <array>
#include <cstdint>
#include <vector>

struct CUstream_st;

namespace nf4bench::bitsandbytes {

// The few calls of CUDA that its launches need around them. Tests replace them, and so test
// everything else without CUDA.
struct CudaCalls {
  // Enqueues scales[b] += *offset, which is in the device's memory.
  void (*add_offset)(float* scales, std::int64_t count, const float* offset,
                     CUstream_st* stream) = nullptr;

  // Order between a stream and the default stream, for builds that launch on the latter.
  void (*default_stream_waits_for)(CUstream_st* stream) = nullptr;
  void (*wait_for_default_stream)(CUstream_st* stream) = nullptr;

  // The codebook in the memory of the current device.
  const float* (*codebook)() = nullptr;

  // A product by `decode`, which writes the decoded weight into memory, and cuBLAS.
  kernels::Variant (*decode_then_cublas)(const kernels::Variant& decode) = nullptr;
};

// Functions of bitsandbytes that dequantize; every build for a kind of device has all of them.
struct Decoders {
  void* decode_absmax = nullptr;            // scales of a nested tensor
  std::array<void*, 3> decode_weight = {};  // by OutputType
};

// What one of bitsandbytes' CUDA functions decodes: codes in blocks of `blocksize`, to values that
// are scaled by one absmax for each block.
struct BlockwiseCodes {
  const float* map = nullptr;  // the value of each code; null where the function has its own
  const std::uint8_t* codes = nullptr;
  const float* absmax = nullptr;
  int blocksize = 0;
  std::int64_t count = 0;  // values
};

// The CUDA functions of libbitsandbytes, and how they are called. Scales are decoded as
// out[b] = map[codes[b]] * absmax[b / blocksize]; for weights the map is ignored.
struct CudaLibrary : Decoders {
  // Products of tokens by weights that are decoded on the way, and of one token, by OutputType;
  // null in builds without them.
  std::array<void*, 3> gemm = {};
  std::array<void*, 3> gemv = {};
  // Builds before 0.44 take no stream and launch on the default stream.
  bool takes_stream = true;

  // Enqueues one of the functions above; on the default stream where none is taken.
  void call(void* function, const BlockwiseCodes& input, void* out, CUstream_st* stream) const;
};

// The functions of libbitsandbytes for the CPU.
struct CpuLibrary : Decoders {
  // Products with weights that were arranged for it; null in builds or on processors without
  // bfloat16 instructions.
  void* multiply = nullptr;
  bool has_avx512 = false;  // with which long blocks are decoded inexactly
};

// True when `library` exports any of the functions that dequantize on a CUDA device, or on the CPU.
bool is_cuda_library(const SharedLibrary& library);
bool is_cpu_library(const SharedLibrary& library);

// Throws Error(kInput) naming those of them that are missing.
CudaLibrary find_cuda_library(const SharedLibrary& library);
CpuLibrary find_cpu_library(const SharedLibrary& library);

// `chain_name`: the three launches of Unsloth's fast_dequantize, or of its Python code on the CPU
// (absmax, offset, weight; plain tensors need only the last one). `decode_name`: only the last
// launch, on scales decoded beforehand. All names are borrowed.
std::vector<kernels::Variant> cuda_variants(const CudaLibrary& library, const CudaCalls& cuda,
                                            const char* chain_name, const char* decode_name);
std::vector<kernels::Variant> cpu_variants(const CpuLibrary& library, const char* chain_name,
                                           const char* decode_name);

// Names of variants; borrowed.
struct ProductNames {
  const char* chosen = "";
  const char* gemm = "";
  const char* gemv = "";
  const char* chain = "";
};

// Matrix products of bitsandbytes on a CUDA device. `gemm`: its kernel for any number of tokens.
// `gemv`: the one for a single token, behind the launches that decode nested scales, as Unsloth
// calls it. `chain`: its three launches that decode the weight, and cuBLAS. `chosen`: the one of
// these that its Python code takes; where the build has no `gemm`, as that of 0.49 does. Functions
// that the build lacks are a reason of the variants that need them.
std::vector<kernels::Variant> cuda_products(const CudaLibrary& library, const CudaCalls& cuda,
                                            const ProductNames& names);

// `name`: its matrix product on the CPU, on weights and scales that are arranged for it beforehand,
// as its Linear4bit does once.
std::vector<kernels::Variant> cpu_products(const CpuLibrary& library, const char* name);

// Whether bitsandbytes 0.50 multiplies `problem` by its kernel that decodes as it goes
// (cgemm_4bit_*), or decodes the weight into memory and leaves the product to cuBLAS. Its Python
// code chooses by the device, the type and the sizes; recorded answers of that code are in
// tests/bitsandbytes/choices.txt.
bool fuses(const kernels::Problem& problem, const kernels::DeviceFacts& device);

}  // namespace nf4bench::bitsandbytes
