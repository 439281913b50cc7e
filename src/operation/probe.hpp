#pragma once

#include "nf4/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nf4bench::operation {

// One call of a probe.
struct ProbeStep {
  std::string name;                 // as a failure names it: "one input at a time, from 64 on"
  std::vector<std::byte> input;     // of the size that make_input() gives
  std::vector<std::byte> expected;  // as reference() gives it: of the output's first values
};

// Something besides the run's own weight and input that variants are held to before they are timed:
// calls on one weight of the same sizes.
struct Probe {
  // What the weight of the run becomes; empty: it stays as it is.
  std::function<nf4::Nf4Tensor(const nf4::Nf4Tensor& weight)> change;

  std::int64_t steps = 1;

  // `weight` is what change() gave.
  std::function<ProbeStep(const nf4::Nf4Tensor& weight, std::int64_t step)> make;
};

}  // namespace nf4bench::operation
