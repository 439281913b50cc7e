#pragma once

#include "base/field.hpp"

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

}  // namespace nf4bench::peer
