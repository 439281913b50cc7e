// Fused, on all cores, with the widest vectors of the machine: see simd_decode.cpp. Outputs bypass
// the caches. Cold that is 1.7 times as fast as stores through them; hot it costs a third where the
// output fits into L2 and 8 % where it does not (bfloat16, 2 cores of a Xeon with AVX-512).

#include "cpu/dequantize/simd_decode.hpp"
#include "cpu/dequantize/variants.hpp"
#include "cpu/job_parts.hpp"

namespace nf4bench::kernels::cpu {
namespace {

void dequantize(const Job& job, const Launch& launch) {
  for_each_part(launch, {job.blocks, std::int64_t{1} << job.block_shift},
                [&](Range range) { decode_blocks(job, range); });
}

}  // namespace

Variant simd() {
  Variant variant;
  variant.name = "simd";
  variant.summary = "fused, vectors on all cores; byte shuffles look up the 16 outputs of a block";
  variant.traits.cache_hints = true;
  variant.traits.mirrors = "kernels that shuffle bytes of a pre-scaled table";
  variant.launch = dequantize;
  return variant;
}

}  // namespace nf4bench::kernels::cpu
