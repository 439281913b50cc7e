#pragma once

#include "io/checkpoint/checkpoint.hpp"
#include "plan/sources.hpp"
#include "text/page.hpp"

#include <string>
#include <vector>

namespace nf4bench::plan {

// The tensors of an input that a name filter selects. Borrowed.
struct Inspection {
  std::vector<const io::TensorEntry*> tensors;  // NF4, in natural name order
  std::vector<OtherCount> others;
};

// Those whose name has a match of `regex`. Throws Error(kUsage) when that is none of several.
Inspection inspect(const io::Checkpoint& checkpoint, const std::string& regex);

// For a terminal: a line for each geometry, or each tensor where all are listed; then what is not
// NF4, problems and warnings.
std::string inspection_table(const Inspection& inspection, bool lists_all,
                             const text::Style& style);

// For programs: every tensor of `input`. Ends in a newline.
std::string inspection_json(const std::string& input, const Inspection& inspection);

}  // namespace nf4bench::plan
