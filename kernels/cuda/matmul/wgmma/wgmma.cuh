#pragma once

// Hopper's products of warpgroups.

#include "variant.hpp"

#include <cstdint>

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

// The instruction names each operand, up to 134, which no template can: lists of the first so many,
// as text and as variables.
// clang-format off
#define NF4_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NF4_NAMES_32 NF4_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NF4_NAMES_40 NF4_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define NF4_NAMES_48 NF4_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define NF4_NAMES_64 NF4_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NF4_NAMES_96 NF4_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "\
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NF4_NAMES_128 NF4_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "\
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define NF4_EIGHT(i) \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), \
    "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define NF4_SUMS_16 NF4_EIGHT(0), NF4_EIGHT(8)
#define NF4_SUMS_32 NF4_SUMS_16, NF4_EIGHT(16), NF4_EIGHT(24)
#define NF4_SUMS_40 NF4_SUMS_32, NF4_EIGHT(32)
#define NF4_SUMS_48 NF4_SUMS_40, NF4_EIGHT(40)
#define NF4_SUMS_64 NF4_SUMS_48, NF4_EIGHT(48), NF4_EIGHT(56)
#define NF4_SUMS_96 NF4_SUMS_64, NF4_EIGHT(64), NF4_EIGHT(72), NF4_EIGHT(80), NF4_EIGHT(88)
#define NF4_SUMS_128 NF4_SUMS_96, NF4_EIGHT(96), NF4_EIGHT(104), NF4_EIGHT(112), NF4_EIGHT(120)
#define NF4_PRODUCT(type, count, tokens, a_names, b_name, add_name) \
  asm volatile( \
      "{\n" \
      ".reg .pred add;\n" \
      "setp.ne.b32 add, " add_name ", 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n" #tokens "k16.f32." type "." type \
      " {" NF4_NAMES_##count "}, {" a_names "}, " b_name ", add, 1, 1, 0;\n" \
      "}" \
      : NF4_SUMS_##count \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add ? 1 : 0))

// d = A B (+ d where `add`), of float16 or bfloat16: A of 64 rows x 16 inputs from the registers of
// four warps, B of 16 inputs x `tokens` from shared memory, as its descriptor says. They go on while
// the tensor cores work. Of each eight tokens a lane has four values of d.
#define NF4_WGMMA(count, tokens, ...) \
  template <OutputType kType> \
  __device__ __forceinline__ void wgmma(float (&d)[count], const std::uint32_t (&a)[4], \
                                        std::uint64_t b, bool add) { \
    if constexpr (kType == OutputType::kFloat16) NF4_PRODUCT("f16", count, tokens, __VA_ARGS__); \
    if constexpr (kType == OutputType::kBfloat16) NF4_PRODUCT("bf16", count, tokens, __VA_ARGS__); \
  }
NF4_WGMMA(16, 32, "%16, %17, %18, %19", "%20", "%21")
NF4_WGMMA(32, 64, "%32, %33, %34, %35", "%36", "%37")
NF4_WGMMA(40, 80, "%40, %41, %42, %43", "%44", "%45")
NF4_WGMMA(48, 96, "%48, %49, %50, %51", "%52", "%53")
NF4_WGMMA(64, 128, "%64, %65, %66, %67", "%68", "%69")
NF4_WGMMA(96, 192, "%96, %97, %98, %99", "%100", "%101")
NF4_WGMMA(128, 256, "%128, %129, %130, %131", "%132", "%133")

#undef NF4_WGMMA
#undef NF4_PRODUCT
#undef NF4_EIGHT
#undef NF4_SUMS_16
#undef NF4_NAMES_16
#undef NF4_SUMS_32
#undef NF4_NAMES_32
#undef NF4_SUMS_40
#undef NF4_NAMES_40
#undef NF4_SUMS_48
#undef NF4_NAMES_48
#undef NF4_SUMS_64
#undef NF4_NAMES_64
#undef NF4_SUMS_96
#undef NF4_NAMES_96
#undef NF4_SUMS_128
#undef NF4_NAMES_128
// clang-format on

#endif

}  // namespace nf4bench::kernels::cuda
