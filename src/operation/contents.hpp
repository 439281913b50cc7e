#pragma once

#include "device/device.hpp"
#include "operation/operation.hpp"

#include <cstddef>
#include <random>
#include <vector>

namespace nf4bench::operation {

// What the buffers of a work that is timed hold, and what its outputs are held to. Borrowed.
struct Contents {
  const kernels::Problem& problem;
  nf4::Nf4Tensor& sibling;  // its codes are those of the weight, its scales the negatives
  std::vector<std::byte>& input;
  std::vector<std::byte>& own;         // as reference() and sibling_reference() give it
  std::vector<std::byte>& of_sibling;  //
  // What calls on the sibling take, if that is not `input`: the same rows under another routing.
  std::vector<std::byte>* sibling_input = nullptr;
};

// These change what a work of `operation` holds, and what its outputs are held to, so that nobody
// can know an output who has not read that part of the inputs anew. Where it is, `random` says.
// Some codes of a block, and its scale:
device::ContentChange change_weight(const Operation& operation, const Contents& contents,
                                    std::mt19937_64& random);
// The signs of a token's activations; there is an input:
device::ContentChange change_input(const Operation& operation, const Contents& contents,
                                   std::mt19937_64& random);
// Which experts two tokens chose, who trade places so that each expert keeps as many rows; of a
// single token, which slot is whose. There is a routing:
device::ContentChange change_routing(const Operation& operation, const Contents& contents,
                                     std::mt19937_64& random);

}  // namespace nf4bench::operation
