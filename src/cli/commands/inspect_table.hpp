#pragma once

#include "io/checkpoint/checkpoint.hpp"
#include "plan/sources.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The tensors of an input that "nf4bench inspect" shows. Borrowed.
struct Inspection {
  std::vector<const io::TensorEntry*> tensors;  // NF4, in natural name order
  std::vector<plan::OtherCount> others;
};

struct InspectTableStyle {
  bool lists_all = false;  // a line for each tensor, not for each geometry
  int width = 0;           // columns of the terminal; 0: not limited
};

// The table, then what is not NF4, then problems and warnings. What is not known is "-".
std::string inspect_table(const Inspection& inspection, const InspectTableStyle& style);

}  // namespace nf4bench::cli
