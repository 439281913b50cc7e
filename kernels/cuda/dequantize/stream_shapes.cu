// Kernels that read a job's packed weight and absmax once and write as many bytes as its output
// has, without decoding: what the memory allows on that geometry. They differ in the shape of their
// accesses only; the fastest is the ceiling. What they write is meaningless.

#include "cuda/dequantize/fused_wide.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

template <class Access, OutputType kType, bool kNested, int kThreads, int kUnits>
__global__ void __launch_bounds__(kThreads) stream_tile(const __grid_constant__ Job job) {
  using U = Unit<kType>;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kUnits);
  const std::int64_t units = job.elements >> U::kShift;
  const auto* packed = reinterpret_cast<const typename U::Packed*>(job.packed) + first;
  uint4* output = static_cast<uint4*>(job.output) + first;
  std::uint32_t words[kUnits];
  std::uint32_t scales[kUnits];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const int local = u * kThreads + static_cast<int>(threadIdx.x);
    if (first + local < units) {
      const std::int64_t block = (first + local) >> (job.block_shift - U::kShift);
      words[u] = Access::load(packed + local);
      if constexpr (kNested) {
        scales[u] = __ldg(job.absmax_codes + block);
      } else {
        scales[u] = __float_as_uint(__ldg(job.absmax + block));
      }
    }
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const int local = u * kThreads + static_cast<int>(threadIdx.x);
    if (first + local < units) {
      Access::store(output + local, make_uint4(words[u], scales[u], words[u], scales[u]));
    }
  }
}

template <class Access, int kThreads, int kUnits>
void launch_stream(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    constexpr OutputType kType = decltype(type)::value;
    const std::int64_t units = block_count(job.elements, Unit<kType>::kElements);
    stream_tile<Access, kType, decltype(nested)::value, kThreads, kUnits>
        <<<grid_size(units, kThreads * kUnits), kThreads, 0, launch.stream>>>(job);
  });
}

Variant shape(const char* name, const char* summary,
              void (*launch)(const Job& job, const Launch& launch)) {
  Variant variant;
  variant.name = name;
  variant.summary = summary;
  variant.launch = launch;
  return variant;
}

}  // namespace

std::vector<Variant> stream_shapes() {
  return {
      shape("cs_128x2", "4-byte loads, 2 a thread, .cs", launch_stream<StreamingAccess, 128, 2>),
      shape("plain_128x2", "4-byte loads, 2 a thread", launch_stream<PlainAccess, 128, 2>),
      shape("wide64", "16-byte loads, 512-byte stores, read ahead", launch_fused_wide<Copying, 64>),
      shape("wide128", "the same in larger blocks", launch_fused_wide<Copying, 128>),
      shape("wide256", "and larger ones", launch_fused_wide<Copying, 256>),
  };
}

}  // namespace nf4bench::kernels::cuda
