#pragma once

#include "bench/cell.hpp"
#include "bench/verification.hpp"
#include "record/measurement.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nf4bench::bench {

// What all rows of one tensor and output type have in common.
struct RowFacts {
  record::Cell cell;  // its cache and launch mode are not set
  kernels::Problem problem;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  double flops = 0.0;
  int buffer_sets = 1;
  std::optional<record::InputsSeen> inputs{};
  std::optional<record::ExpertsHit> experts{};
};

// Of the tensor with this id, which poses `problem`.
RowFacts facts_of(const RunContext& context, const std::string& tensor,
                  const kernels::Problem& problem, int buffer_sets);

// The rows of one cell, one for each variant in catalogue order: from the verdicts, which take the
// second verification into account, and from the samples. An interrupted cell lacks the rows of
// variants that have too few samples.
std::vector<record::Measurement> cell_rows(const RunContext& context, const RowFacts& facts,
                                           const std::vector<Verdict>& verdicts,
                                           const CellTiming& timing);

// The fastest stream shape of the cell; none when there was no such kernel or too few samples.
std::optional<record::StreamCeiling> stream_ceiling(const RowFacts& facts,
                                                    const CellTiming& timing);

}  // namespace nf4bench::bench
