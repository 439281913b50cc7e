#pragma once

#include "record/report.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::report {

using record::Crossover;
using record::Stretch;

// One for each tensor, type and mode that was measured with several numbers of tokens.
std::vector<Crossover> find_crossovers(const record::Report& report);

// "fused 1 to 8, chain_cublas 64"
std::string stretches_text(const Crossover& crossover);

// A number of tokens that tells more of where the fastest variant changes.
struct CrossoverProbe {
  std::string tensor;
  std::int64_t tokens = 0;
  bool operator==(const CrossoverProbe&) const = default;
};

// The middle between neighbours of which different variants are the fastest, each once; none when
// all such neighbours differ by one.
std::vector<CrossoverProbe> crossover_probes(const record::Report& report);

}  // namespace nf4bench::report
