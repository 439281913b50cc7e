// Fused; tensor cores fed from a table of pairs in shared memory. Does any shape.

#include "cuda/dispatch.cuh"
#include "cuda/matmul/limits.hpp"
#include "cuda/matmul/table/table_plan.hpp"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

template <OutputType kType, class Traits>
void launch_traits(const Job& job, const Launch& launch, const TokenFactors& factors) {
  const TableShape shape = table_shape<Traits>(job, launch.device);
  const StagePlan plan = plan_table<Traits>(job, launch.device);
  const SplitParts parts = {static_cast<float4*>(job.workspace)};
  const Grid grid = {static_cast<unsigned>(plan.blocks), kTableThreads,
                     static_cast<std::size_t>(TableLayout<Traits>::bytes(shape.slots))};
  launch_grid(launch, grid, mma_table<kType, Traits>, job, factors, plan, shape, parts);
  if (plan.split == 0) return;
  const Grid joining = {static_cast<unsigned>(plan.split * (Traits::kPieces / kJoinThreads)),
                        kJoinThreads, 0};
  launch_grid(launch, joining, join_table<kType, Traits>, job, factors, plan, parts);
}

void launch_table(const Job& job, const Launch& launch) {
  with_tokens(job, launch, token_range(job, launch.device), table_workspace(job),
              [&](const Job& part, const TokenFactors& factors) {
                with_table_traits(part, choose_tiles(part, launch.device), [&](auto traits) {
                  using Traits = decltype(traits);
                  dispatch_16_bit(part, [&](auto type) {
                    launch_traits<decltype(type)::value, Traits>(part, launch, factors);
                  });
                });
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
  variant.workspace_bytes = [](const Problem& problem, const Launch& launch) {
    return with_float16_tokens(table_workspace(problem), problem,
                               token_range(problem, launch.device));
  };
  variant.launch = launch_table;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
