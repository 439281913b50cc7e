#!/usr/bin/env python3
"""Prints kernels/cuda/matmul/wgmma/wgmma.cuh: Hopper's products of warpgroups, whose instruction names
each of its up to 134 operands, which no template can.

    scripts/generate_wgmma.py > kernels/cuda/matmul/wgmma/wgmma.cuh
    scripts/generate_wgmma.py --check kernels/cuda/matmul/wgmma/wgmma.cuh   # whether it is what would be printed
"""

import sys

TOKENS = (32, 64, 80, 96, 128, 192, 256)  # columns of B that kernels multiply by
TYPES = (("kFloat16", "f16"), ("kBfloat16", "bf16"))

HEAD = """\
#pragma once

// Hopper's products of warpgroups. Written by scripts/generate_wgmma.py.

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

// d = A B (+ d where `add`), of float16 or bfloat16: A of 64 rows x 16 inputs from the registers of
// four warps, B of 16 inputs x 32 to 256 tokens from shared memory, as its descriptor says. They go
// on while the tensor cores work. Of each eight tokens a lane has four values of d.
// clang-format off
"""

TAIL = """\
// clang-format on

#endif

}  // namespace nf4bench::kernels::cuda
"""


def lines(parts, a_line, indent):
    """The parts with commas between, so many a line."""
    rows = [", ".join(parts[i : i + a_line]) for i in range(0, len(parts), a_line)]
    return (",\n" + " " * indent).join(rows)


def product(constant, name, tokens):
    count = tokens // 2
    operands = [f"%{i}" for i in range(count)]
    rows = [", ".join(operands[i : i + 16]) for i in range(0, count, 16)]
    named = ', "\n        "'.join(rows)
    sums = lines([f'"+f"(d[{i}])' for i in range(count)], 8, 10)
    a = ", ".join(f"%{count + i}" for i in range(4))
    return f"""\
  if constexpr (kType == OutputType::{constant}) {{
    asm volatile(
        "{{\\n"
        ".reg .pred add;\\n"
        "setp.ne.b32 add, %{count + 5}, 0;\\n"
        "wgmma.mma_async.sync.aligned.m64n{tokens}k16.f32.{name}.{name} "
        "{{{named}}}, "
        "{{{a}}}, %{count + 4}, add, 1, 1, 0;\\n"
        "}}"
        : {sums}
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add ? 1 : 0));
  }}
"""


def function(tokens):
    products = "".join(product(constant, name, tokens) for constant, name in TYPES)
    return f"""\
template <OutputType kType>
__device__ __forceinline__ void wgmma(float (&d)[{tokens // 2}], const std::uint32_t (&a)[4], std::uint64_t b,
                                      bool add) {{
{products}}}
"""


def main():
    header = HEAD + "\n".join(function(tokens) for tokens in TOKENS) + TAIL
    if sys.argv[1:2] != ["--check"]:
        print(header, end="")
        return 0
    if open(sys.argv[2], encoding="utf-8").read() == header:
        return 0
    print(f"{sys.argv[2]} is not what scripts/generate_wgmma.py prints", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
