#pragma once

// Hopper's warpgroup products: four warps multiply A, 64 rows x 16 from their registers, by B from
// shared memory, and go on while the tensor cores work.

#include "cuda/matmul/async_copy.cuh"
#include "variant.hpp"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Before the first product of a group: orders what wrote the registers that it reads.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Ends a group of products.
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until all groups but the newest kPending are done, and their registers can be touched again.
template <int kPending>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Nothing that uses the sums may move up across the wait before.
template <int kCount>
__device__ __forceinline__ void hold(float (&sums)[kCount]) {
#pragma unroll
  for (float& sum : sums) asm volatile("" : "+f"(sum)::"memory");
}

// B: rows of 64 16-bit values, one a token, in 128 bytes that are swizzled as the copy engine does;
// 1024 bytes hold eight tokens.
class TokenDescriptor {
 public:
  // `address` is a multiple of 1024.
  __device__ __forceinline__ explicit TokenDescriptor(std::uint32_t address)
      : lower_(address >> 4 | 1u << 16) {}

  // So many times 16 bytes further. Shared memory ends before the sum would run into other bits.
  __device__ __forceinline__ TokenDescriptor at(std::uint32_t sixteens) const {
    TokenDescriptor further = *this;
    further.lower_ += sixteens;
    return further;
  }

  __device__ __forceinline__ std::uint64_t bits() const {
    return std::uint64_t{1024 >> 4 | 1u << 30} << 32 | lower_;
  }

 private:
  std::uint32_t lower_;
};

// d = A B (+ d where `add`), of float16 or bfloat16, with 32 to 256 tokens: four values of d a lane
// and eight tokens.
template <OutputType kType, int kCount>
__device__ __forceinline__ void multiply_tokens(float (&d)[kCount], const std::uint32_t (&a)[4],
                                                TokenDescriptor b, bool add) {
  static_assert(kCount == 16 || kCount == 32 || kCount == 48 || kCount == 64 || kCount == 128);
// clang-format off
// The first operands, which are the values of d, as the instruction names them and as the compiler
// wants them.
#define NF4BENCH_NAMES_16 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NF4BENCH_NAMES_32 NF4BENCH_NAMES_16 \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NF4BENCH_NAMES_48 NF4BENCH_NAMES_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define NF4BENCH_NAMES_64 NF4BENCH_NAMES_48 \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NF4BENCH_NAMES_128 NF4BENCH_NAMES_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define NF4BENCH_SUMS_8(i) \
  "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), \
  "+f"(d[(i) + 4]), "+f"(d[(i) + 5]), "+f"(d[(i) + 6]), "+f"(d[(i) + 7])
#define NF4BENCH_SUMS_16(i) NF4BENCH_SUMS_8(i), NF4BENCH_SUMS_8((i) + 8)
#define NF4BENCH_SUMS_32(i) NF4BENCH_SUMS_16(i), NF4BENCH_SUMS_16((i) + 16)
#define NF4BENCH_SUMS_48(i) NF4BENCH_SUMS_32(i), NF4BENCH_SUMS_16((i) + 32)
#define NF4BENCH_SUMS_64(i) NF4BENCH_SUMS_32(i), NF4BENCH_SUMS_32((i) + 32)
#define NF4BENCH_SUMS_128(i) NF4BENCH_SUMS_64(i), NF4BENCH_SUMS_64((i) + 64)
#define NF4BENCH_PRODUCT(TYPE, TOKENS, COUNT, A, B, ADD) \
  asm volatile( \
      "{\n" \
      ".reg .pred add;\n" \
      "setp.ne.b32 add, " ADD ", 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n" #TOKENS "k16.f32." TYPE "." TYPE " " \
      "{" NF4BENCH_NAMES_##COUNT "}, " \
      "{" A "}, " B ", add, 1, 1, 0;\n" \
      "}" \
      : NF4BENCH_SUMS_##COUNT(0) \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits()), "r"(add ? 1 : 0))
#define NF4BENCH_PRODUCTS(TOKENS, COUNT, A, B, ADD) \
  if constexpr (kCount == COUNT && kType == OutputType::kFloat16) \
    NF4BENCH_PRODUCT("f16", TOKENS, COUNT, A, B, ADD); \
  if constexpr (kCount == COUNT && kType == OutputType::kBfloat16) \
    NF4BENCH_PRODUCT("bf16", TOKENS, COUNT, A, B, ADD)
  NF4BENCH_PRODUCTS(32, 16, "%16, %17, %18, %19", "%20", "%21");
  NF4BENCH_PRODUCTS(64, 32, "%32, %33, %34, %35", "%36", "%37");
  NF4BENCH_PRODUCTS(96, 48, "%48, %49, %50, %51", "%52", "%53");
  NF4BENCH_PRODUCTS(128, 64, "%64, %65, %66, %67", "%68", "%69");
  NF4BENCH_PRODUCTS(256, 128, "%128, %129, %130, %131", "%132", "%133");
#undef NF4BENCH_PRODUCTS
#undef NF4BENCH_PRODUCT
#undef NF4BENCH_SUMS_128
#undef NF4BENCH_SUMS_64
#undef NF4BENCH_SUMS_48
#undef NF4BENCH_SUMS_32
#undef NF4BENCH_SUMS_16
#undef NF4BENCH_SUMS_8
#undef NF4BENCH_NAMES_128
#undef NF4BENCH_NAMES_64
#undef NF4BENCH_NAMES_48
#undef NF4BENCH_NAMES_32
#undef NF4BENCH_NAMES_16
  // clang-format on
}

#endif

}  // namespace nf4bench::kernels::cuda
