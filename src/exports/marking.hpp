#pragma once

#include "report/report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nf4bench::exports {

// The public marking scheme of Unsloth's challenge A ("convert nf4 to Triton"), applied to the
// variants of a report. Its criterion on torch.compile is met by a function of a Python file that
// was measured through it, too, traced whole, and was right wherever the function itself was. It
// does not apply to kernels of a CUDA binary: no points are given or taken for it.
inline constexpr int kMostMarkingPoints = 14;  // with the one for torch.compile

struct MarkingPoints {
  int single_kernel = 0;   // 3
  int speedup = 0;         // -3 up to 1.00x; 1 from 1.05x, 2 more from 1.10x, 2 more from 1.15x
  int custom_asm = 0;      // 3
  int cache_eviction = 0;  // 1
  std::optional<int> torch_compile{};  // 1, else -1; none where it does not apply
  int tested_types = 0;                // 1 when tested in float16 and bfloat16, else -1

  int total() const {
    return single_kernel + speedup + custom_asm + cache_eviction + tested_types +
           torch_compile.value_or(0);
  }
};

// One variant under the scheme. Plain data.
struct Marking {
  std::string variant;
  std::optional<double> speedup;     // geometric mean over all measurements that passed
  std::string torch_compile_reason;  // why it does not work there; empty when it does
  std::optional<MarkingPoints> points;
  std::string reason;  // why there are no points; empty when there are
};

// In the order of report.variants, without those that are others through torch.compile. Empty for
// runs on a CPU: the scheme is about GPU kernels.
std::vector<Marking> mark_variants(const record::Report& report);

}  // namespace nf4bench::exports
