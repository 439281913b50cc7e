#pragma once

#include "io/checkpoint/checkpoint.hpp"
#include "plan/sources.hpp"
#include "text/page.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The tensors of an input that "nf4bench inspect" shows. Borrowed.
struct Inspection {
  std::vector<const io::TensorEntry*> tensors;  // NF4, in natural name order
  std::vector<plan::OtherCount> others;
};

// The tensors, or with `lists_all` not set their geometries; then what is not NF4, then problems
// and warnings.
std::string inspect_table(const Inspection& inspection, bool lists_all, const text::Style& style);

// The same of every tensor, for programs. Ends in a newline.
std::string inspect_json(const std::string& input, const Inspection& inspection);

}  // namespace nf4bench::cli
