#pragma once

#include "operation/operation.hpp"
#include "record/settings.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nf4bench::operation {

// x of `problem` in its type, a row for each token or slot. Drawn value by value: the first rows
// are the same whatever the number of tokens, on every machine.
std::vector<std::byte> make_activations(const kernels::Problem& problem, record::Activations kind,
                                        std::uint64_t seed);

// Somebody's own x[tokens, inputs], row-major.
struct GivenActivations {
  std::int64_t tokens = 0;
  std::int64_t inputs = 0;
  std::vector<double> values;
};

// `operation` with the first tokens of `given` as input, instead of its own. Problems have at most
// as many tokens, and as many inputs.
Operation with_activations(Operation operation, GivenActivations given);

}  // namespace nf4bench::operation
