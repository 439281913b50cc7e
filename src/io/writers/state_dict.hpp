#pragma once

#include "io/writers/writers.hpp"
#include "nf4/tensor.hpp"

#include <vector>

namespace nf4bench::io {

// The entries of bitsandbytes' state dict for `tensor`: weight, absmax, quant_map, quant state and,
// when nested, nested_absmax and nested_quant_map. They borrow from `tensor`. Throws Error(kOutput)
// for an offset that JSON cannot hold.
std::vector<OutputTensor> state_dict_entries(const nf4::Nf4Tensor& tensor);

}  // namespace nf4bench::io
