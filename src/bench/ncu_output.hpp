#pragma once

#include "record/counters.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nf4bench::bench {

// The metrics of Nsight Compute that Counters are made of, by their names there.
const std::vector<std::string>& ncu_metrics();

// What `text`, written by "ncu --csv --page raw", says of all kernels in its table; empty where
// there is no table. A value that is no number, or of a unit that is not known, is absent.
std::optional<record::Counters> counters_in(const std::string& text);

// Those of `metrics` that a line of `text` which tells of an error names: this GPU, or this version
// of Nsight Compute, has none of them, and refuses all the others, too.
std::vector<std::string> refused_metrics(const std::string& text,
                                         const std::vector<std::string>& metrics);

}  // namespace nf4bench::bench
