#pragma once

#include <vector>

#include "io/writers.hpp"
#include "nf4/tensor.hpp"

namespace nf4bench {

// The entries of bitsandbytes' state dict for `tensor`: weight, absmax, quant_map, nested_absmax
// and nested_quant_map when nested, quant state. They borrow from `tensor`. Throws Error(kOutput)
// for an offset that JSON cannot hold.
std::vector<OutputTensor> state_dict_entries(const Nf4Tensor& tensor);

}  // namespace nf4bench
