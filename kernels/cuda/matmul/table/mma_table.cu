// Fused; tensor cores fed from a table of pairs in shared memory. Does any shape.

#include "cuda/matmul/limits.hpp"
#include "cuda/matmul/table/table_plan.hpp"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

template <OutputType kType, class Traits>
void launch_traits(const Job& job, const Launch& launch) {
  const TableShape shape = table_shape<Traits>(job, launch.device);
  const StagePlan plan = plan_table<Traits>(job, launch.device);
  const SplitParts parts = {static_cast<float4*>(job.workspace)};
  const Grid grid = {static_cast<unsigned>(plan.blocks), kTableThreads,
                     static_cast<std::size_t>(TableLayout<Traits>::bytes(shape.slots))};
  launch_grid(launch, grid, mma_table<kType, Traits>, job, plan, shape, parts);
  if (plan.split == 0) return;
  const Grid joining = {static_cast<unsigned>(plan.split * (Traits::kPieces / kJoinThreads)),
                        kJoinThreads, 0};
  launch_grid(launch, joining, join_table<kType, Traits>, job, plan, parts);
}

void launch_table(const Job& job, const Launch& launch) {
  with_table_traits(job, choose_row_warps(job, launch.device), [&](auto traits) {
    using Traits = decltype(traits);
    if (job.output_type == OutputType::kFloat16) {
      launch_traits<OutputType::kFloat16, Traits>(job, launch);
    } else {
      launch_traits<OutputType::kBfloat16, Traits>(job, launch);
    }
  });
}

}  // namespace

Variant matmul_mma_table() {
  Variant variant;
  variant.name = "mma_table";
  variant.summary = "fused, any shape; tensor cores fed from a table of pairs in shared memory";
  variant.traits.launches = 2;
  variant.traits.inline_ptx = true;
  variant.traits.persistent = true;
  variant.traits.mirrors = "FLUTE (arXiv 2407.10960)";
  variant.unsupported = mma_table_unsupported;
  variant.workspace_bytes = [](const Problem& problem, const Launch&) {
    return table_workspace(problem);
  };
  variant.launch = launch_table;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
