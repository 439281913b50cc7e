// Three passes over memory, each on all cores: decode the absmax codes into the workspace, add the
// offset there, decode the weight one element at a time. What the chain of launches that drives
// bitsandbytes does, on a CPU. A plain tensor needs the last pass alone.

#include "cpu/dequantize/variants.hpp"
#include "cpu/job_parts.hpp"

namespace nf4bench::kernels::cpu {
namespace {

void decode_absmax(const Job& job, const Launch& launch, float* scales) {
  for_each_part(launch, {job.blocks, 1}, [&](Range range) {
    for (std::int64_t block = range.first; block < range.last; ++block) {
      scales[block] = nf4::multiply_flushed(job.nested_map[job.absmax_codes[block]],
                                            job.nested_absmax[block / kNestedBlocksize]);
    }
  });
}

void add_offset(const Job& job, const Launch& launch, float* scales) {
  for_each_part(launch, {job.blocks, 1}, [&](Range range) {
    for (std::int64_t block = range.first; block < range.last; ++block) {
      scales[block] += *job.nested_offset;
    }
  });
}

template <OutputType kType>
void decode_weight(const Job& job, const Launch& launch, const float* scales) {
  const std::int64_t blocksize = std::int64_t{1} << job.block_shift;
  for_each_part(launch, {job.blocks, blocksize}, [&](Range range) {
    for (std::int64_t block = range.first; block < range.last; ++block) {
      const float scale = scales[block];
      const std::int64_t first = block * blocksize;
      const std::int64_t count = std::min(blocksize, job.elements - first);
      const std::uint8_t* packed = job.packed + first / 2;
      auto* const output = static_cast<OutputBits<kType>*>(job.output) + first;
      const auto decoded = [scale](int code) {
        return to_output_bits<kType>(nf4::multiply_flushed(kCodebook[code], scale));
      };
      for (std::int64_t byte = 0; byte < count / 2; ++byte) {
        output[2 * byte] = decoded(packed[byte] >> 4);
        output[2 * byte + 1] = decoded(packed[byte] & 15);
      }
      if (count % 2 != 0) output[count - 1] = decoded(packed[count / 2] >> 4);
    }
  });
}

void dequantize(const Job& job, const Launch& launch) {
  const float* scales = job.absmax;
  if (job.nested) {
    auto* const decoded = static_cast<float*>(job.workspace);
    decode_absmax(job, launch, decoded);
    add_offset(job, launch, decoded);
    scales = decoded;
  }
  switch (job.output_type) {
    case OutputType::kFloat16:
      return decode_weight<OutputType::kFloat16>(job, launch, scales);
    case OutputType::kBfloat16:
      return decode_weight<OutputType::kBfloat16>(job, launch, scales);
    case OutputType::kFloat32:
      return decode_weight<OutputType::kFloat32>(job, launch, scales);
  }
}

std::size_t scales_bytes(const Problem& problem, const Launch&) {
  return problem.nested ? static_cast<std::size_t>(problem.blocks) * sizeof(float) : 0;
}

}  // namespace

Variant multi_pass() {
  Variant variant;
  variant.name = "multi_pass";
  variant.summary = "three passes on all cores: absmax, offset, weight element by element";
  variant.traits.launches = 3;
  variant.traits.mirrors = "the three launches of Unsloth fast_dequantize, on a CPU";
  variant.workspace_bytes = scales_bytes;
  variant.launch = dequantize;
  return variant;
}

}  // namespace nf4bench::kernels::cpu
