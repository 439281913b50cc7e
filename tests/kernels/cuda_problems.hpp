#pragma once

// Products and devices that tests ask kernels about.

#include "variant.hpp"

namespace nf4bench {

inline constexpr kernels::DeviceFacts kTuring = {75, 40, std::int64_t{4} << 20};
inline constexpr kernels::DeviceFacts kAmpere = {80, 108, std::int64_t{40} << 20};
inline constexpr kernels::DeviceFacts kAda = {89, 128, std::int64_t{72} << 20};
inline constexpr kernels::DeviceFacts kHopper = {90, 132, std::int64_t{50} << 20, 4.814e12};
inline constexpr kernels::DeviceFacts kH100 = {90, 132, std::int64_t{50} << 20, 3.352e12};
inline constexpr kernels::DeviceFacts kBlackwell = {100, 148, std::int64_t{126} << 20};

inline kernels::Problem make_problem(std::int64_t tokens, std::int64_t outputs, std::int64_t inputs,
                                     int blocksize = 64) {
  kernels::Problem problem;
  problem.tokens = tokens;
  problem.outputs = outputs;
  problem.inputs = inputs;
  problem.elements = outputs * inputs;
  problem.block_shift = 0;
  while (1 << problem.block_shift < blocksize) ++problem.block_shift;
  problem.blocks = kernels::block_count(problem.elements, blocksize);
  problem.nested = true;
  problem.output_type = kernels::OutputType::kBfloat16;
  return problem;
}

}  // namespace nf4bench
