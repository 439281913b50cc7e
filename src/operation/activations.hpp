#pragma once

#include "problem.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nf4bench::operation {

// What the activations x of a matrix product look like.
enum class Activations : std::uint8_t {
  kNormal,   // "normal": N(0, 1)
  kOutlier,  // "outlier": N(0, 1), one channel in a hundred scaled by 100, as in trained models
};

constexpr const char* to_string(Activations kind) {
  return kind == Activations::kNormal ? "normal" : "outlier";
}

// x[tokens, inputs] of `problem` in its type. Drawn value by value: the first tokens are the same
// whatever the number of tokens, on every machine.
std::vector<std::byte> make_activations(const kernels::Problem& problem, Activations kind,
                                        std::uint64_t seed);

}  // namespace nf4bench::operation
