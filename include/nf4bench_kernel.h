/* nf4bench_kernel.h: what a short kernel needs, so that it can be one function.
 *
 *   #include "nf4bench_kernel.h"
 *
 *   static int decode(const nf4bench_peer_job* job, void*) {
 *     for (int64_t i = 0; i < job->elements; ++i) nf4::store(*job, i, nf4::value(*job, i));
 *     return 0;
 *   }
 *   NF4BENCH_CPU_DECODE(decode)
 *
 * `nf4bench try FILE` compiles, verifies and times it; docs/trying-a-kernel.md is the guide. For
 * C++17 and CUDA, on the host and in kernels. Nothing here is fast: it is right, bit for bit, and
 * meant to be replaced. Compile without contraction of products and sums, as nf4bench does. */
#ifndef NF4BENCH_KERNEL_H
#define NF4BENCH_KERNEL_H

#include "nf4bench_peer.h"

#ifndef __cplusplus
#error "nf4bench_kernel.h is for C++ and CUDA; C has nf4bench_peer.h"
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define NF4BENCH_ANYWHERE __host__ __device__ inline
#else
#define NF4BENCH_ANYWHERE inline
#endif

namespace nf4 {

/* The bits of a float, and the float of some bits. */
NF4BENCH_ANYWHERE uint32_t bits_of(float value) {
  union {
    float value;
    uint32_t bits;
  } both;
  both.value = value;
  return both.bits;
}
NF4BENCH_ANYWHERE float float_of(uint32_t bits) {
  union {
    uint32_t bits;
    float value;
  } both;
  both.bits = bits;
  return both.value;
}

/* The value of a code from 0 to 15. */
NF4BENCH_ANYWHERE float codebook(int code) {
  constexpr float kValues[16] = {
      -1.0f,
      -0.6961928009986877f,
      -0.5250730514526367f,
      -0.39491748809814453f,
      -0.28444138169288635f,
      -0.18477343022823334f,
      -0.09105003625154495f,
      0.0f,
      0.07958029955625534f,
      0.16093020141124725f,
      0.24611230194568634f,
      0.33791524171829224f,
      0.44070982933044434f,
      0.5626170039176941f,
      0.7229568362236023f,
      1.0f,
  };
  return kValues[code];
}

/* `value`, or a zero of its sign where it is subnormal. */
NF4BENCH_ANYWHERE float flush(float value) {
  const uint32_t bits = bits_of(value);
  return (bits & 0x7f800000u) == 0 ? float_of(bits & 0x80000000u) : value;
}

/* a * b as mul.ftz gives it. */
NF4BENCH_ANYWHERE float multiply(float a, float b) {
#if defined(__CUDA_ARCH__)
  return flush(__fmul_rn(flush(a), flush(b)));
#else
  return flush(flush(a) * flush(b));
#endif
}

/* The code of element `i` of the weight. */
NF4BENCH_ANYWHERE int code(const nf4bench_peer_job& job, int64_t i) {
  const int pair = job.packed[i >> 1];
  return (i & 1) == 0 ? pair >> 4 : pair & 15;
}

/* The scale of a block, from plain or nested scales. */
NF4BENCH_ANYWHERE float scale(const nf4bench_peer_job& job, int64_t block) {
  if (!job.nested) return job.absmax[block];
  const float product =
      multiply(job.nested_map[job.absmax_codes[block]], job.nested_absmax[block >> 8]);
#if defined(__CUDA_ARCH__)
  return __fadd_rn(product, job.nested_offset);
#else
  return product + job.nested_offset;
#endif
}

/* The decoded element `i`, in float32. */
NF4BENCH_ANYWHERE float value(const nf4bench_peer_job& job, int64_t i) {
  return multiply(codebook(code(job, i)), scale(job, i >> job.block_shift));
}

/* `value` rounded to nearest even; NaN is 0x7fff. */
NF4BENCH_ANYWHERE uint16_t to_bfloat16(float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
NF4BENCH_ANYWHERE uint16_t to_float16(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and more: infinity */
  if (magnitude < 0x33000000u) return (uint16_t)sign;              /* less than half of 2^-24 */
  const bool is_subnormal = magnitude < 0x38800000u;
  const uint32_t shift = is_subnormal ? 126u - (magnitude >> 23) : 13u;
  const uint32_t whole =
      is_subnormal ? (magnitude & 0x7fffffu) | 0x800000u : magnitude - 0x38000000u;
  const uint32_t half_less = (1u << (shift - 1u)) - 1u;
  return (uint16_t)(sign | ((whole + half_less + ((whole >> shift) & 1u)) >> shift));
}

/* Writes element `i` of the output in its type. */
NF4BENCH_ANYWHERE void store(const nf4bench_peer_job& job, int64_t i, float value) {
  if (job.output_type == NF4BENCH_PEER_FLOAT32) {
    ((float*)job.output)[i] = value;
  } else {
    ((uint16_t*)job.output)[i] =
        job.output_type == NF4BENCH_PEER_FLOAT16 ? to_float16(value) : to_bfloat16(value);
  }
}

/* Element `i` of the input, the activations of a product. */
NF4BENCH_ANYWHERE float input(const nf4bench_peer_job& job, int64_t i) {
  const uint32_t bits = ((const uint16_t*)job.input)[i];
  if (job.output_type == NF4BENCH_PEER_BFLOAT16) return float_of(bits << 16);
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | magnitude << 13);
  /* Into the exponent of float32, of subnormals as well, and to its own scale: 2^112. */
  return float_of(sign | magnitude << 13) * float_of(0x77800000u);
}

} /* namespace nf4 */

/* Offers one function, int launch(const nf4bench_peer_job*, void* stream), as the whole peer. */
#define NF4BENCH_KERNEL(operation, device, launch)                                    \
  extern "C" NF4BENCH_PEER_EXPORT const nf4bench_peer_table* nf4bench_peer_v2(void) { \
    static const nf4bench_peer_variant kVariant = {"", "",      operation, device, 1, \
                                                   0,  nullptr, nullptr,   launch};   \
    static const nf4bench_peer_table kTable = {NF4BENCH_PEER_ABI,                     \
                                               sizeof(nf4bench_peer_variant),         \
                                               1,                                     \
                                               sizeof(nf4bench_peer_table),           \
                                               &kVariant,                             \
                                               nullptr};                              \
    return &kTable;                                                                   \
  }
#define NF4BENCH_CPU_DECODE(launch) \
  NF4BENCH_KERNEL(NF4BENCH_PEER_DEQUANTIZE, NF4BENCH_PEER_CPU, launch)
#define NF4BENCH_CPU_PRODUCT(launch) \
  NF4BENCH_KERNEL(NF4BENCH_PEER_MATMUL, NF4BENCH_PEER_CPU, launch)
#define NF4BENCH_CUDA_DECODE(launch) \
  NF4BENCH_KERNEL(NF4BENCH_PEER_DEQUANTIZE, NF4BENCH_PEER_CUDA, launch)
#define NF4BENCH_CUDA_PRODUCT(launch) \
  NF4BENCH_KERNEL(NF4BENCH_PEER_MATMUL, NF4BENCH_PEER_CUDA, launch)

#endif /* NF4BENCH_KERNEL_H */
