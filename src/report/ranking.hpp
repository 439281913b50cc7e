#pragma once

#include "record/report.hpp"
#include "report/report.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::report {

// The median of a row is not known when half of its 95 % interval is wider than this: ten times as
// wide as a run stops at by default.
inline constexpr double kWidestHalf = 0.05;

// Why the time of a row cannot be ranked, in two words; empty when it can, or when it has no time.
std::string doubt_of(const record::Measurement& row);

// True for a row that passed and has a time.
bool is_timed(const record::Measurement& row);

// Which of the rows of a cell is the fastest.
struct Ranking {
  const record::Measurement* fastest = nullptr;  // null when there is nothing to choose from, or
                                                 // when nobody can say
  std::vector<const record::Measurement*> candidates;  // then: those that may be the fastest

  bool is_candidate(const record::Measurement& row) const;
};

// Of the rows of one cell, but for reference lines. A row whose time is in doubt may lie anywhere
// in its interval, and without an interval anywhere at all. In a cell that other programs disturbed
// the intervals are those of speedups, which are ratios within a round.
Ranking rank(const std::vector<const record::Measurement*>& rows);

// At most one sentence on rows whose outputs are 0 or NaN whatever the weights are.
std::vector<std::string> unjudged_warnings(const record::Report& report);

// At most one sentence on cells that were timed while other programs, or idle threads of peers,
// took the processors.
std::vector<std::string> load_warnings(const record::Report& report);

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
