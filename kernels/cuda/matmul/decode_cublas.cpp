// The weight is decoded into memory, then cuBLAS multiplies. chain_cublas: by the three launches
// that libraries decode with; decode_cublas: by one; cublas_resident: long before.

#include "cuda/matmul/decode_cublas.hpp"

#include "cuda/dequantize/variants.hpp"
#include "cuda/matmul/cublas.hpp"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) {
  return static_cast<std::size_t>(block_count(static_cast<std::int64_t>(bytes), kAlignment)) *
         kAlignment;
}

std::size_t weight_bytes(const Problem& problem) {
  return static_cast<std::size_t>(problem.elements) * size_in_bytes(problem.output_type);
}

}  // namespace

// The workspace: cuBLAS's part, the decoded weight, and what `decode` needs itself.
Variant decode_then_cublas(const Variant& decode) {
  Variant variant;
  variant.traits = decode.traits;
  variant.traits.launches = decode.traits.launches + 1;
  variant.unsupported = [decode](const Problem& problem, const DeviceFacts& device) {
    const char* const reason = why_unsupported(decode, problem, device);
    return reason != nullptr ? reason : cublas_unsupported(problem);
  };
  variant.workspace_bytes = [decode](const Problem& problem, const Launch& launch) {
    return kCublasWorkspace + aligned(weight_bytes(problem)) +
           static_cast<std::size_t>(workspace_of(decode, problem, launch));
  };
  variant.launch = [decode](const Job& job, const Launch& launch) {
    auto* const workspace = static_cast<std::uint8_t*>(job.workspace);
    Job decoding = job;
    decoding.output = workspace + kCublasWorkspace;
    decoding.workspace = workspace + kCublasWorkspace + aligned(weight_bytes(job));
    decode.launch(decoding, launch);
    multiply_by_cublas(job, decoding.output, workspace, launch.stream);
  };
  return variant;
}

Variant matmul_chain_cublas() {
  Variant variant = decode_then_cublas(multi_kernel());
  variant.name = "chain_cublas";
  variant.summary = "three launches decode the weight into memory, then cuBLAS";
  variant.traits.mirrors = "bitsandbytes above the tokens that its own product takes, and Unsloth";
  return variant;
}

Variant matmul_decode_cublas() {
  Variant variant = decode_then_cublas(fused());
  variant.name = "decode_cublas";
  variant.summary = "one launch decodes the weight into memory, then cuBLAS";
  variant.traits.mirrors = "chain_cublas with the flagship of dequantization";
  return variant;
}

// The weight is decoded once, before anything is timed.
Variant matmul_cublas_resident() {
  Variant variant;
  variant.name = "cublas_resident";
  variant.summary = "cuBLAS on weights that stay decoded, in four times the memory: a reference";
  variant.traits.mirrors = "a model that is not quantized";
  variant.traits.reference_line = true;
  variant.unsupported = [](const Problem& problem, const DeviceFacts&) {
    return cublas_unsupported(problem);
  };
  variant.workspace_bytes = [](const Problem&, const Launch&) { return kCublasWorkspace; };
  variant.prepared_bytes = weight_bytes;
  variant.prepare = [](const Job& job, const Launch& launch) {
    Job decoding = job;
    decoding.output = job.prepared;
    static const Variant decode = fused();
    decode.launch(decoding, {launch.stream, launch.device});
  };
  variant.launch = [](const Job& job, const Launch& launch) {
    multiply_by_cublas(job, job.prepared, job.workspace, launch.stream);
  };
  return variant;
}

}  // namespace nf4bench::kernels::cuda
