#include "peer/bitsandbytes.hpp"

#include <limits>

namespace nf4bench::peer {
namespace {

constexpr DecoderNames kDecoders = {
    .absmax = "cdequantize_blockwise_fp32",
    .weight = {"cdequantize_blockwise_fp16_nf4", "cdequantize_blockwise_bf16_nf4",
               "cdequantize_blockwise_fp32_nf4"},
    .build = "a CUDA build of it"};

constexpr std::array<const char*, 3> kGemm = {"cgemm_4bit_fp16", "cgemm_4bit_bf16",
                                              "cgemm_4bit_fp32"};
constexpr std::array<const char*, 3> kGemv = {"cgemm_4bit_inference_naive_fp16",
                                              "cgemm_4bit_inference_naive_bf16",
                                              "cgemm_4bit_inference_naive_fp32"};

// The C functions have the same names in all builds, but the mangled name of the C++ function
// behind them tells its arguments. This is the one without a stream. Recent builds hide all such
// names.
constexpr const char* kWithoutStream = "_Z28dequantizeBlockwise_fp16_nf4PfPhS_P6__halfii";

// Threads behind the end of the weight read scales of blocks that do not exist, up to a tile of
// 1024 elements, which is 32 blocks of 32. The values are not used, but the memory must be there.
constexpr std::size_t kReadBehindScales = 32 * sizeof(float);

const char* unsupported(const kernels::Problem& problem, const kernels::DeviceFacts&) {
  if (problem.elements == 0)
    return "has no elements; bitsandbytes ends the process over an empty launch";
  if (problem.elements > std::numeric_limits<int>::max()) {
    return "more than 2^31 - 1 elements; bitsandbytes counts in 32 bits";
  }
  return nullptr;
}

// Makes `launches`. A library without streams launches on the default stream, so the launches are
// put in order with `stream`.
template <class Launches>
void in_order(const BitsandbytesLibrary& library, const CudaTools& tools, CUstream_st* stream,
              Launches launches) {
  if (!library.takes_stream) tools.default_stream_waits_for(stream);
  launches();
  if (!library.takes_stream) tools.wait_for_default_stream(stream);
}

void decode_weight(const BitsandbytesLibrary& library, const CudaTools& tools,
                   const kernels::Job& job, const kernels::Launch& launch) {
  const float* const scales = job.nested ? static_cast<const float*>(job.workspace) : job.absmax;
  in_order(library, tools, launch.stream, [&] {
    library.call(library.decode_weight[static_cast<std::size_t>(job.output_type)],
                 {.codes = job.packed,
                  .absmax = scales,
                  .blocksize = 1 << job.block_shift,
                  .count = job.elements},
                 job.output, launch.stream);
  });
}

kernels::Variant common_parts(const BitsandbytesLibrary& library, const char* name) {
  kernels::Variant variant;
  variant.name = name;
  variant.traits.mirrors = "the library itself, called as Unsloth's fast_dequantize calls it";
  variant.traits.capturable = library.takes_stream;
  variant.unsupported = unsupported;
  variant.workspace_bytes = [](const kernels::Problem& problem, const kernels::Launch&) {
    return scales_bytes(problem);
  };
  return variant;
}

}  // namespace

std::size_t scales_bytes(const kernels::Problem& problem) {
  if (!problem.nested) return 0;
  return static_cast<std::size_t>(problem.blocks) * sizeof(float) + kReadBehindScales;
}

void decode_scales(const BitsandbytesLibrary& library, const CudaTools& tools,
                   const kernels::Job& job, const kernels::Launch& launch) {
  if (!job.nested) return;
  auto* const scales = static_cast<float*>(job.workspace);
  in_order(library, tools, launch.stream, [&] {
    library.call(library.decode_absmax,
                 {.map = job.nested_map,
                  .codes = job.absmax_codes,
                  .absmax = job.nested_absmax,
                  .blocksize = nf4::kNestedBlocksize,
                  .count = job.blocks},
                 scales, launch.stream);
  });
  tools.add_offset(scales, job.blocks, job.nested_offset, launch.stream);
}

void BitsandbytesLibrary::call(void* function, const BlockwiseCodes& input, void* out,
                               CUstream_st* stream) const {
  using WithStream =
      void (*)(const float*, const std::uint8_t*, const float*, void*, int, int, CUstream_st*);
  using WithoutStream = void (*)(const float*, const std::uint8_t*, const float*, void*, int, int);
  const int count = static_cast<int>(input.count);
  if (takes_stream) {
    reinterpret_cast<WithStream>(function)(input.map, input.codes, input.absmax, out,
                                           input.blocksize, count, stream);
  } else {
    reinterpret_cast<WithoutStream>(function)(input.map, input.codes, input.absmax, out,
                                              input.blocksize, count);
  }
}

bool is_bitsandbytes(const SharedLibrary& library) {
  return has_decoders(library, kDecoders);
}

BitsandbytesLibrary find_bitsandbytes(const SharedLibrary& library) {
  BitsandbytesLibrary found = {find_decoders(library, kDecoders)};
  found.takes_stream = library.find(kWithoutStream) == nullptr;
  for (std::size_t i = 0; i < kGemm.size() && found.takes_stream; ++i) {
    found.gemm[i] = library.find(kGemm[i]);
    found.gemv[i] = library.find(kGemv[i]);
  }
  return found;
}

std::vector<kernels::Variant> bitsandbytes_variants(const BitsandbytesLibrary& library,
                                                    const CudaTools& tools, const char* chain_name,
                                                    const char* decode_name) {
  kernels::Variant chain = common_parts(library, chain_name);
  chain.summary = "three launches of bitsandbytes' library; plain absmax: one";
  chain.traits.launches = 3;
  chain.launch = [library, tools](const kernels::Job& job, const kernels::Launch& launch) {
    decode_scales(library, tools, job, launch);
    decode_weight(library, tools, job, launch);
  };

  kernels::Variant decode = common_parts(library, decode_name);
  decode.summary = "its last launch alone, on scales decoded before";
  decode.workspace_bytes = {};
  decode.prepared_bytes = scales_bytes;
  decode.prepare = [library, tools](const kernels::Job& job, const kernels::Launch& launch) {
    decode_scales(library, tools, with_prepared_scales(job), launch);
  };
  decode.launch = [library, tools](const kernels::Job& job, const kernels::Launch& launch) {
    decode_weight(library, tools, with_prepared_scales(job), launch);
  };
  return {chain, decode};
}

}  // namespace nf4bench::peer
