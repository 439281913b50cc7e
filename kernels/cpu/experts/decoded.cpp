// Products with a stack that lies decoded: of which every call decodes all, whoever was chosen, or
// that was decoded before and takes several times the memory.

#include "cpu/dequantize/variants.hpp"
#include "cpu/experts/grouped_product.hpp"
#include "cpu/experts/variants.hpp"

namespace nf4bench::kernels::cpu {
namespace {

std::int64_t decoded_bytes(const Problem& problem) {
  constexpr std::int64_t kAlignment = 64;
  const auto size = static_cast<std::int64_t>(size_in_bytes(problem.output_type));
  return block_count(problem.elements * size, kAlignment) * kAlignment;
}

void decode(const Job& job, const Launch& launch, void* decoded) {
  static const Variant variant = simd();
  Job whole = job;
  whole.output = decoded;
  variant.launch(whole, launch);
}

template <OutputType kType>
void multiply(const Job& job, const Launch& launch, const void* decoded) {
  const auto get_tile = [&](std::int64_t expert, Range outputs, Range inputs, float* weights) {
    for (std::int64_t n = outputs.first; n < outputs.last; ++n) {
      float* const row = weights + (n - outputs.first) * kTileInputs;
      for (std::int64_t k = inputs.first; k < inputs.last; ++k) {
        row[k - inputs.first] = value_at<kType>(decoded, element_of(job, expert, n, k));
      }
    }
  };
  multiply_grouped<kType>(job, launch, get_tile);
}

void multiply(const Job& job, const Launch& launch, const void* decoded) {
  with_type(job.output_type,
            [&](auto type) { multiply<decltype(type)::value>(job, launch, decoded); });
}

const char* unsupported(const Problem& problem, const DeviceFacts&) {
  return problem.group.own_offsets ? "decodes with one offset for the whole stack" : nullptr;
}

}  // namespace

Variant experts_decode_all() {
  Variant variant;
  variant.name = "decode_all";
  variant.summary = "decodes the whole stack, whoever was chosen, then one product over all rows";
  variant.traits.launches = 5;
  variant.traits.mirrors = "dequantize_4bit of the stack, then a grouped product";
  variant.unsupported = unsupported;
  variant.workspace_bytes = [](const Problem& problem, const Launch&) {
    return static_cast<std::size_t>(decoded_bytes(problem) + GroupedWorkspace(problem).bytes);
  };
  variant.launch = [](const Job& job, const Launch& launch) {
    decode(job, launch, job.workspace);
    Job product = job;
    product.workspace = static_cast<std::byte*>(job.workspace) + decoded_bytes(job);
    multiply(product, launch, job.workspace);
  };
  return variant;
}

Variant experts_grouped_resident() {
  Variant variant;
  variant.name = "grouped_resident";
  variant.summary =
      "one product over all rows with weights that lie decoded: a line to compare with";
  variant.traits.launches = 4;
  variant.traits.reference_line = true;
  variant.traits.mirrors = "experts that are not quantized";
  variant.unsupported = unsupported;
  variant.workspace_bytes = [](const Problem& problem, const Launch&) {
    return static_cast<std::size_t>(GroupedWorkspace(problem).bytes);
  };
  variant.prepared_bytes = [](const Problem& problem) {
    return static_cast<std::size_t>(decoded_bytes(problem));
  };
  variant.prepare = [](const Job& job, const Launch& launch) { decode(job, launch, job.prepared); };
  variant.launch = [](const Job& job, const Launch& launch) {
    multiply(job, launch, job.prepared);
  };
  return variant;
}

}  // namespace nf4bench::kernels::cpu
