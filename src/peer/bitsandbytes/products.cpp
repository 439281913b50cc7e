#include "peer/bitsandbytes/products.hpp"

#include "peer/bitsandbytes/choice.hpp"

#include <algorithm>
#include <limits>

namespace nf4bench::peer {
namespace {

constexpr int kNf4 = 2;  // of its two 4-bit types

constexpr const char* kMirrors = "the library itself, called through its C functions";

std::size_t number_of(kernels::OutputType type) {
  return static_cast<std::size_t>(type);
}

// Why neither of the kernels that decode as they go may be given `problem`; null when they may.
const char* unfit(const kernels::Problem& problem) {
  if (problem.elements > std::numeric_limits<int>::max() ||
      problem.tokens > std::numeric_limits<int>::max()) {
    return "more than 2^31 - 1 elements; bitsandbytes counts in 32 bits";
  }
  if (problem.inputs % (std::int64_t{1} << problem.block_shift) != 0) {
    return "rows are no whole blocks; bitsandbytes decodes such weights first";
  }
  return nullptr;
}

void launch_gemm(const BitsandbytesLibrary& library, const kernels::Job& job,
                 const kernels::Launch& launch) {
  using Gemm =
      void (*)(const void* x, const std::uint8_t* weights, const float* absmax,
               const std::uint8_t* codes, const float* map, const float* offset, void* y,
               const void* bias, int m, int n, int k, int blocksize, int type, CUstream_st* stream);
  const auto gemm = reinterpret_cast<Gemm>(library.gemm[number_of(job.output_type)]);
  gemm(job.input, job.packed, job.nested ? job.nested_absmax : job.absmax, job.absmax_codes,
       job.nested_map, job.nested_offset, job.output, nullptr, static_cast<int>(job.tokens),
       static_cast<int>(job.outputs), static_cast<int>(job.inputs), 1 << job.block_shift, kNf4,
       launch.stream);
}

kernels::Variant make_gemm(const BitsandbytesLibrary& library, const char* name) {
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

void launch_gemv(const BitsandbytesLibrary& library, const float* codebook, const kernels::Job& job,
                 const kernels::Launch& launch) {
  using Gemv = void (*)(int m, int n, int k, const void* x, const std::uint8_t* weights,
                        const float* absmax, const float* codebook, void* y, int lda, int ldb,
                        int ldc, int blocksize, CUstream_st* stream);
  const auto gemv = reinterpret_cast<Gemv>(library.gemv[number_of(job.output_type)]);
  const int outputs = static_cast<int>(job.outputs);
  const int inputs = static_cast<int>(job.inputs);
  const float* const absmax = job.nested ? static_cast<const float*>(job.workspace) : job.absmax;
  gemv(outputs, 1, inputs, job.input, job.packed, absmax, codebook, job.output, outputs,
       (inputs + 1) / 2, outputs, 1 << job.block_shift, launch.stream);
}

kernels::Variant make_gemv(const BitsandbytesLibrary& library, const CudaTools& tools,
                           const char* name) {
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
  variant.workspace_bytes = [](const kernels::Problem& problem, const kernels::Launch&) {
    return scales_bytes(problem);
  };
  variant.launch = [library, tools](const kernels::Job& job, const kernels::Launch& launch) {
    decode_scales(library, tools, job, launch);
    launch_gemv(library, tools.codebook(), job, launch);
  };
  return variant;
}

kernels::Variant make_chain(const BitsandbytesLibrary& library, const CudaTools& tools,
                            const char* name) {
  kernels::Variant variant =
      tools.decode_then_cublas(bitsandbytes_variants(library, tools, name, name).front());
  variant.name = name;
  variant.summary = "bitsandbytes decodes the weight into memory, then cuBLAS";
  variant.traits.mirrors = kMirrors;
  return variant;
}

// The variants that the library's own code chooses from.
struct Alternatives {
  BitsandbytesLibrary functions;
  kernels::Variant gemm;
  kernels::Variant gemv;
  kernels::Variant chain;

  const kernels::Variant& choose(const kernels::Problem& problem,
                                 const kernels::DeviceFacts& device) const {
    if (functions.gemm[number_of(problem.output_type)] != nullptr) {
      return bitsandbytes_fuses(problem, device) ? gemm : chain;
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

std::vector<kernels::Variant> bitsandbytes_products(const BitsandbytesLibrary& library,
                                                    const CudaTools& tools,
                                                    const ProductNames& names) {
  const Alternatives all = {.functions = library,
                            .gemm = make_gemm(library, names.gemm),
                            .gemv = make_gemv(library, tools, names.gemv),
                            .chain = make_chain(library, tools, names.chain)};
  return {make_chosen(all, names.chosen), all.gemm, all.gemv, all.chain};
}

}  // namespace nf4bench::peer
