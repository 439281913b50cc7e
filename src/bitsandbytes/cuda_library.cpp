#include "bitsandbytes/decoders.hpp"

#include <limits>

namespace nf4bench::bitsandbytes {
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

constexpr int kNf4 = 2;  // of its two 4-bit types

constexpr const char* kMirrors = "the library itself, called through its C functions";

constexpr const char* kTooMany = "more than 2^31 - 1 elements; bitsandbytes counts in 32 bits";

std::size_t number_of(kernels::OutputType type) {
  return static_cast<std::size_t>(type);
}

const char* unsupported(const kernels::Problem& problem, const kernels::DeviceFacts&) {
  if (problem.elements == 0)
    return "has no elements; bitsandbytes ends the process over an empty launch";
  return problem.elements > std::numeric_limits<int>::max() ? kTooMany : nullptr;
}

// Makes `launches`. A library without streams launches on the default stream, so the launches are
// put in order with `stream`.
template <class Launches>
void in_order(const CudaLibrary& library, const CudaCalls& cuda, CUstream_st* stream,
              Launches launches) {
  if (!library.takes_stream) cuda.default_stream_waits_for(stream);
  launches();
  if (!library.takes_stream) cuda.wait_for_default_stream(stream);
}

// Bytes of the workspace that decode_scales() needs.
std::size_t scales_bytes(const kernels::Problem& problem, const kernels::Launch&) {
  if (!problem.nested) return 0;
  return static_cast<std::size_t>(problem.blocks) * sizeof(float) + kReadBehindScales;
}

// Enqueues the two launches that decode the scales of a nested `job` into its workspace; nothing
// for a plain one.
void decode_scales(const CudaLibrary& library, const CudaCalls& cuda, const kernels::Job& job,
                   const kernels::Launch& launch) {
  if (!job.nested) return;
  auto* const scales = static_cast<float*>(job.workspace);
  in_order(library, cuda, launch.stream, [&] {
    library.call(library.decode_absmax,
                 {.map = job.nested_map,
                  .codes = job.absmax_codes,
                  .absmax = job.nested_absmax,
                  .blocksize = nf4::kNestedBlocksize,
                  .count = job.blocks},
                 scales, launch.stream);
  });
  cuda.add_offset(scales, job.blocks, job.nested_offset, launch.stream);
}

}  // namespace

void CudaLibrary::call(void* function, const BlockwiseCodes& input, void* out,
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

bool is_cuda_library(const SharedLibrary& library) {
  return has_decoders(library, kDecoders);
}

CudaLibrary find_cuda_library(const SharedLibrary& library) {
  CudaLibrary found = {find_decoders(library, kDecoders)};
  found.takes_stream = library.find(kWithoutStream) == nullptr;
  for (std::size_t i = 0; i < kGemm.size() && found.takes_stream; ++i) {
    found.gemm[i] = library.find(kGemm[i]);
    found.gemv[i] = library.find(kGemv[i]);
  }
  return found;
}

std::vector<kernels::Variant> cuda_variants(const CudaLibrary& library, const CudaCalls& cuda,
                                            const char* chain_name, const char* decode_name) {
  Decoding decoding;
  decoding.chain_summary = "three launches of bitsandbytes' library; plain absmax: one";
  decoding.decode_summary = "its last launch alone, on scales decoded before";
  decoding.scales = [library, cuda](const kernels::Job& job, const kernels::Launch& launch) {
    decode_scales(library, cuda, job, launch);
  };
  decoding.weight = [library, cuda](const kernels::Job& job, const kernels::Launch& launch) {
    in_order(library, cuda, launch.stream, [&] {
      library.call(library.decode_weight[number_of(job.output_type)],
                   {.codes = job.packed,
                    .absmax = scales_of(job),
                    .blocksize = blocksize_of(job),
                    .count = job.elements},
                   job.output, launch.stream);
    });
  };
  decoding.all.traits.mirrors = "the library itself, called as Unsloth's fast_dequantize calls it";
  decoding.all.traits.capturable = library.takes_stream;
  decoding.all.unsupported = unsupported;
  decoding.all.workspace_bytes = scales_bytes;
  return decoding_variants(decoding, chain_name, decode_name);
}

namespace {

// Why neither of the kernels that decode as they go may be given `problem`; null when they may.
const char* unfit(const kernels::Problem& problem) {
  if (problem.elements > std::numeric_limits<int>::max() ||
      problem.tokens > std::numeric_limits<int>::max()) {
    return kTooMany;
  }
  if (problem.inputs % blocksize_of(problem) != 0) {
    return "rows are no whole blocks; bitsandbytes decodes such weights first";
  }
  return nullptr;
}

void launch_gemm(const CudaLibrary& library, const kernels::Job& job,
                 const kernels::Launch& launch) {
  using Gemm =
      void (*)(const void* x, const std::uint8_t* weights, const float* absmax,
               const std::uint8_t* codes, const float* map, const float* offset, void* y,
               const void* bias, int m, int n, int k, int blocksize, int type, CUstream_st* stream);
  const auto gemm = reinterpret_cast<Gemm>(library.gemm[number_of(job.output_type)]);
  gemm(job.input, job.packed, job.nested ? job.nested_absmax : job.absmax, job.absmax_codes,
       job.nested_map, job.nested_offset, job.output, nullptr, static_cast<int>(job.tokens),
       static_cast<int>(job.outputs), static_cast<int>(job.inputs), blocksize_of(job), kNf4,
       launch.stream);
}

kernels::Variant make_gemm(const CudaLibrary& library, const char* name) {
  kernels::Variant variant;
  variant.name = name;
  variant.summary = "bitsandbytes' kernel that decodes as it multiplies";
  variant.traits.mirrors = kMirrors;
  variant.unsupported = [library](const kernels::Problem& problem,
                                  const kernels::DeviceFacts&) -> const char* {
    if (library.gemm[number_of(problem.output_type)] == nullptr) {
      return "this build has no cgemm_4bit for the type; it came with bitsandbytes 0.50";
    }
    return unfit(problem);
  };
  variant.launch = [library](const kernels::Job& job, const kernels::Launch& launch) {
    launch_gemm(library, job, launch);
  };
  return variant;
}

void launch_gemv(const CudaLibrary& library, const float* codebook, const kernels::Job& job,
                 const kernels::Launch& launch) {
  using Gemv = void (*)(int m, int n, int k, const void* x, const std::uint8_t* weights,
                        const float* absmax, const float* codebook, void* y, int lda, int ldb,
                        int ldc, int blocksize, CUstream_st* stream);
  const auto gemv = reinterpret_cast<Gemv>(library.gemv[number_of(job.output_type)]);
  const int outputs = static_cast<int>(job.outputs);
  const int inputs = static_cast<int>(job.inputs);
  gemv(outputs, 1, inputs, job.input, job.packed, scales_of(job), codebook, job.output, outputs,
       (inputs + 1) / 2, outputs, blocksize_of(job), launch.stream);
}

kernels::Variant make_gemv(const CudaLibrary& library, const CudaCalls& cuda, const char* name) {
  kernels::Variant variant;
  variant.name = name;
  variant.summary = "its kernel for one token; nested scales are decoded by two launches before";
  variant.traits.mirrors = "the library itself, called as Unsloth's fast_gemv calls it";
  variant.traits.launches = 3;
  variant.unsupported = [library](const kernels::Problem& problem,
                                  const kernels::DeviceFacts&) -> const char* {
    if (library.gemv[number_of(problem.output_type)] == nullptr) {
      return "this build has no cgemm_4bit_inference_naive for the type, or none that takes a "
             "stream";
    }
    if (problem.tokens != 1) return "multiplies one token alone";
    return unfit(problem);
  };
  variant.workspace_bytes = scales_bytes;
  variant.launch = [library, cuda](const kernels::Job& job, const kernels::Launch& launch) {
    decode_scales(library, cuda, job, launch);
    launch_gemv(library, cuda.codebook(), job, launch);
  };
  return variant;
}

kernels::Variant make_chain(const CudaLibrary& library, const CudaCalls& cuda, const char* name) {
  kernels::Variant variant =
      cuda.decode_then_cublas(cuda_variants(library, cuda, name, name).front());
  variant.name = name;
  variant.summary = "bitsandbytes decodes the weight into memory, then cuBLAS";
  variant.traits.mirrors = kMirrors;
  return variant;
}

// The variants that the library's own code chooses from.
struct Alternatives {
  CudaLibrary functions;
  kernels::Variant gemm;
  kernels::Variant gemv;
  kernels::Variant chain;

  const kernels::Variant& choose(const kernels::Problem& problem,
                                 const kernels::DeviceFacts& device) const {
    if (functions.gemm[number_of(problem.output_type)] != nullptr) {
      return fuses(problem, device) ? gemm : chain;
    }
    return why_unsupported(gemv, problem, device) == nullptr ? gemv : chain;
  }
};

kernels::Variant make_chosen(const Alternatives& all, const char* name) {
  kernels::Variant variant;
  variant.name = name;
  variant.summary = "the one of its ways that bitsandbytes' own code chooses";
  variant.traits.mirrors = "the library itself, as its Linear4bit calls it";
  variant.traits.launches = all.chain.traits.launches;
  variant.traits.capturable = all.chain.traits.capturable;
  variant.unsupported = [all](const kernels::Problem& problem, const kernels::DeviceFacts& device) {
    return why_unsupported(all.choose(problem, device), problem, device);
  };
  variant.workspace_bytes = [all](const kernels::Problem& problem, const kernels::Launch& launch) {
    const kernels::Variant& chosen = all.choose(problem, launch.device);
    return static_cast<std::size_t>(workspace_of(chosen, problem, launch));
  };
  variant.launch = [all](const kernels::Job& job, const kernels::Launch& launch) {
    all.choose(job, launch.device).launch(job, launch);
  };
  return variant;
}

}  // namespace

std::vector<kernels::Variant> cuda_products(const CudaLibrary& library, const CudaCalls& cuda,
                                            const ProductNames& names) {
  const Alternatives all = {.functions = library,
                            .gemm = make_gemm(library, names.gemm),
                            .gemv = make_gemv(library, cuda, names.gemv),
                            .chain = make_chain(library, cuda, names.chain)};
  return {make_chosen(all, names.chosen), all.gemm, all.gemv, all.chain};
}

}  // namespace nf4bench::bitsandbytes
