#pragma once

#include "io/checkpoint/checkpoint.hpp"
#include "io/checkpoint/inventory.hpp"
#include "io/checkpoint/tensor_group.hpp"
#include "nf4/tensor.hpp"

namespace nf4bench::io {

// Where the pieces of a judged entry are, and the one value of its state that an entry lacks.
struct TensorPlan {
  TensorGroup group;
  float nested_offset = 0.0f;
};

// Reads the tensor behind `entry`, which has no problem. Throws Error(kInput) when the files fail,
// have changed, or hold more than this process may have in memory.
nf4::Nf4Tensor read_tensor(const Inventory& inventory, const TensorPlan& plan,
                           const TensorEntry& entry);

}  // namespace nf4bench::io
