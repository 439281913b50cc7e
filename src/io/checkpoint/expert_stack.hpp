#pragma once

#include "io/checkpoint/quant_state.hpp"
#include "io/stored_tensors.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// A stack of experts as bitsandbytes' Experts4bit saves it: X_proj, U8 [experts, N*K/2], beside
// X_absmax, F32 [experts, N*K/blocksize]. There is no quant state, so that N and K are not in it.

// The N outputs and K inputs of each expert of a stack.
struct StackShape {
  std::string name;  // of the packed weight, or what follows one of its dots: "gate_up_proj"
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;

  bool names(std::string_view tensor) const;
};

// What a quant state would say of a stack: plain, NF4, bfloat16, of shape [experts, N, K]. The
// first of `shapes` that names `weight` gives N and K; the blocksize follows from the sizes. Throws
// Error(kInput) that begins with `where` when the sizes do not fit each other, or when no shape
// names it.
QuantState stack_state(std::string_view where, const StoredTensor& weight,
                       const StoredTensor& absmax, const std::vector<StackShape>& shapes);

}  // namespace nf4bench::io
