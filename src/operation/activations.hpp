#pragma once

#include "problem.hpp"
#include "record/settings.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nf4bench::operation {

// x[tokens, inputs] of `problem` in its type. Drawn value by value: the first tokens are the same
// whatever the number of tokens, on every machine.
std::vector<std::byte> make_activations(const kernels::Problem& problem, record::Activations kind,
                                        std::uint64_t seed);

}  // namespace nf4bench::operation
