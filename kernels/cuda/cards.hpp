#pragma once

// Cards that people own, as data sheets have them. Plain host code.

#include "problem.hpp"

#include <span>

namespace nf4bench::kernels::cuda {

struct Card {
  const char* name = "";
  DeviceFacts facts;
  double clock_hz = 0.0;  // boost
  // Multiplications and additions of a multiprocessor and cycle, 16-bit operands and float32 sums:
  // the peak, that of mma.sync, and as many as a BLAS reaches. GeForce has half of what the chip
  // could.
  double tensor = 0.0;
  double mma = 0.0;
  double blas = 0.0;
};

std::span<const Card> known_cards();

// The one whose clock and tensor cores `device` most likely has: of the compute capability, or of
// the next lower one, that with the next number of multiprocessors.
const Card& nearest_card(const DeviceFacts& device);

}  // namespace nf4bench::kernels::cuda
