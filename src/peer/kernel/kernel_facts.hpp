#pragma once

#include "base/field.hpp"
#include "problem.hpp"
#include "record/counters.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// `launch` with what follows from its blocks, registers and shared memory: occupancy (0: not even
// one block fits), what limits it, and waves. As the driver counts it, but without a context; as it
// was for GPUs that are not known.
record::Launch with_occupancy(record::Launch launch, const kernels::DeviceFacts& device);

// What a thread is given of which the code uses `registers`: a warp gets them in units.
std::int64_t registers_given(std::int64_t registers);

// What is known of a kernel before it runs.
struct KernelFacts {
  std::string name{};                      // of one that host code launches: "decode<float>"
  int registers = 0;                       // that its code uses in a thread
  std::int64_t spill_bytes = 0;            // that a thread stores to memory for want of registers
  std::int64_t shared_bytes = 0;           // of a block, without what its directive adds
  std::optional<record::Launch> launch{};  // for its problem; none: it cannot be, or who knows how
  // Of a kernel that decodes into one type, where there is a disassembler.
  std::optional<InstructionMix> instructions{};
};

template <Is<KernelFacts> Facts, class F>
void fields(Facts& k, F&& f) {
  f("name", k.name, Field{.later = true, .or_null = true});
  f("registers", k.registers);
  f("spill_bytes", k.spill_bytes);
  f("shared_bytes", k.shared_bytes);
  f("launch", k.launch, kLater);
  f("instructions_per_element", k.instructions, kLater);
}

// What ptxas says in `log` of the kernel `symbol`.
KernelFacts facts_in(const std::string& log, const std::string& symbol);

// Writes what nvcc said of the library at `path` behind it, where nothing that loads it looks: so
// that both stay together.
void add_log(const std::string& path, const std::string& log);

// What add_log() wrote; empty of any other file.
std::string log_of(const std::string& path);

// Of those kernels of such a library that may be the one for `problem`: all but those that are
// known to write another type. Nobody but its host code knows which one that launches, and how.
// `sass` is what disassembled() gave.
std::vector<KernelFacts> library_kernel_facts(const std::string& path,
                                              const kernels::Problem& problem,
                                              const std::string& sass);

}  // namespace nf4bench::peer
