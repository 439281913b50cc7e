#pragma once

#include "base/field.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace nf4bench::peer {

// Machine instructions of a thread for an element that it writes, by the pipe of the multiprocessor
// that they occupy; the rest only issue.
struct InstructionMix {
  double issued = 0.0;  // all of them
  double tensor = 0.0;
  double fma = 0.0;
  double alu = 0.0;
  double shared = 0.0;
  double global = 0.0;
};

template <Is<InstructionMix> Mix, class F>
void fields(Mix& m, F&& f) {
  f("issued", m.issued);
  f("tensor", m.tensor);
  f("fma", m.fma);
  f("alu", m.alu);
  f("shared", m.shared);
  f("global", m.global);
}

// Of the main path of kernel `symbol` in what cuobjdump -sass said: the cheapest way through the
// code that makes all the widest stores, as scripts/count_sass.py has it. Instructions of a loop
// count once, as do its elements. None where it is not found, or stores nothing.
std::optional<InstructionMix> instruction_mix(const std::string& sass, const std::string& symbol,
                                              int bytes_per_element);

// What a block of a kernel takes of a multiprocessor.
struct BlockNeeds {
  int threads = 0;
  int registers = 0;              // of a thread
  std::int64_t shared_bytes = 0;  // static and dynamic
};

// Warps that a multiprocessor holds at once of those that it has room for, from 0 (not even one
// block fits) to 1. As the driver counts it, but without a context; none for GPUs that are not
// known.
std::optional<double> occupancy(int compute_capability, const BlockNeeds& block);

// What is known of a kernel before it runs.
struct KernelFacts {
  int registers = 0;              // of a thread
  std::int64_t spill_bytes = 0;   // that a thread stores to memory for want of registers
  std::int64_t shared_bytes = 0;  // of a block, without what its directive adds
  // Warps that a multiprocessor holds at once, of those that it has room for; none: not known.
  std::optional<double> occupancy{};
  // Of a kernel that decodes into one type, where there is a disassembler.
  std::optional<InstructionMix> instructions{};
};

template <Is<KernelFacts> Facts, class F>
void fields(Facts& k, F&& f) {
  f("registers", k.registers);
  f("spill_bytes", k.spill_bytes);
  f("shared_bytes", k.shared_bytes);
  f("occupancy", k.occupancy, kLater);
  f("instructions_per_element", k.instructions, kLater);
}

// What ptxas says in `log` of the kernel `symbol`.
KernelFacts facts_in(const std::string& log, const std::string& symbol);

}  // namespace nf4bench::peer
