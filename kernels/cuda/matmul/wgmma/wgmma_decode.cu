// Fused; Hopper's warpgroup products with weights decoded into registers.

#include "cuda/matmul/variants.hpp"
#include "cuda/matmul/wgmma/wgmma_decode.cuh"

#include <algorithm>
#include <iterator>

namespace nf4bench::kernels::cuda {
namespace {

// What is compiled, and how many stages it takes to add up the parts of a split tile (H200).
template <int kJoin, class ShapeType>
struct Choice {
  using Shape = ShapeType;
  static constexpr int kJoinStages = kJoin;
};

using For8 = Choice<2, WgmmaShape<8, 4, 5, 4, 4>>;
using For16 = Choice<2, WgmmaShape<16, 4, 4, 6, 4>>;
using For32 = Choice<2, WgmmaShape<32, 4, 4, 3, 4>>;
using For64 = Choice<3, WgmmaShape<64, 3, 4, 5, 2>>;
using For128 = Choice<3, WgmmaShape<128, 3, 3, 6, 1>>;
using For128Narrow = Choice<3, WgmmaShape<128, 2, 4, 7, 1>>;
using For256 = Choice<5, WgmmaShape<256, 2, 3, 4, 1>>;

constexpr std::int64_t kMostTokens = 512;

template <class Choice>
StagePlan plan_stages(const Problem& problem, int multiprocessors) {
  using Shape = typename Choice::Shape;
  const int token_groups = static_cast<int>(block_count(problem.tokens, Shape::kTokens));
  const int tiles = static_cast<int>(block_count(problem.outputs, Shape::kRows)) * token_groups;
  StagePlan plan = plan_tiles(tiles, static_cast<int>(block_count(problem.inputs, 256)),
                              std::min(multiprocessors, kMostGridBlocks), Choice::kJoinStages);
  plan.token_groups = token_groups;
  return plan;
}

// The time it takes on the largest device that there is, so that the choice follows from the
// problem alone. `stage_ns` is that of a stage (H200).
template <class Choice>
std::int64_t estimate(const Problem& problem, int stage_ns) {
  const StagePlan plan = plan_stages<Choice>(problem, 132);
  return std::int64_t{stages_of(plan, Choice::kJoinStages)} * stage_ns;
}

// Calls use(Choice) for what `problem` is computed with.
template <class Function>
auto with_choice(const Problem& problem, Function use) {
  if (problem.tokens <= 8) return use(For8{});
  if (problem.tokens <= 16) return use(For16{});
  if (problem.tokens <= 32) return use(For32{});
  if (problem.tokens <= 64) return use(For64{});
  const std::int64_t estimates[] = {estimate<For64>(problem, 1550), estimate<For128>(problem, 2900),
                                    estimate<For128Narrow>(problem, 2000),
                                    estimate<For256>(problem, 3200)};
  switch (std::min_element(std::begin(estimates), std::end(estimates)) - estimates) {
    case 0:
      return use(For64{});
    case 1:
      return use(For128{});
    case 2:
      return use(For128Narrow{});
    default:
      return use(For256{});
  }
}

// Parts of the workspace, in bytes from its start.
template <class Shape>
struct Workspace {
  std::int64_t scales;
  std::int64_t factors;
  std::int64_t counters;
  std::int64_t sums;
  std::int64_t bytes;

  explicit Workspace(const Problem& problem) {
    const std::int64_t tokens = block_count(problem.tokens, Shape::kTokens) * Shape::kTokens;
    scales = block_count(problem.inputs, 256) * 512 * tokens;
    factors = scales + tokens * 4;
    counters = factors + problem.outputs * 4;
    sums = counters + kMostGridBlocks * Shape::kGroups * 4;
    sums = block_count(sums, 256) * 256;
    bytes = sums + std::int64_t{kMostGridBlocks} * 2 * Shape::kGroups * Shape::kGroupSums * 4;
  }
};

// As many parts as keep all multiprocessors busy, of at least eight quarters.
template <class Shape>
TokenShape share_tokens(const StagePlan& plan, const DeviceFacts& device) {
  TokenShape shape = {};
  shape.quarters = plan.stages * 4;
  shape.tokens = Shape::kTokens;
  shape.all_tokens = plan.token_groups * Shape::kTokens;
  shape.counters = plan.split * Shape::kGroups;
  const int wanted = std::max(1, device.multiprocessors / shape.all_tokens);
  shape.part_quarters = std::max<int>(8, static_cast<int>(block_count(shape.quarters, wanted)));
  shape.parts = static_cast<int>(block_count(shape.quarters, shape.part_quarters));
  return shape;
}

template <class Choice>
void launch_choice(const Job& job, const Launch& launch) {
  using Shape = typename Choice::Shape;
  const StagePlan plan = plan_stages<Choice>(job, launch.device.multiprocessors);
  const Workspace<Shape> parts(job);
  auto* workspace = static_cast<std::uint8_t*>(job.workspace);
  const TokenImage image = {workspace,
                            reinterpret_cast<float*>(workspace + parts.scales),
                            {reinterpret_cast<float*>(workspace + parts.factors)},
                            reinterpret_cast<int*>(workspace + parts.counters)};
  const SplitSums split = {reinterpret_cast<float*>(workspace + parts.sums), image.counters};
  const TokenShape tokens = share_tokens<Shape>(plan, launch.device);
  // One block of threads a multiprocessor: more would wait for blocks of the kernel before to
  // leave.
  const Grid arranging = {static_cast<unsigned>(launch.device.multiprocessors), kArrangeThreads, 0};
  if (job.output_type == OutputType::kFloat16) {
    launch_grid(launch, arranging, arrange_tokens<OutputType::kFloat16>, job, image, tokens);
  } else {
    launch_grid(launch, arranging, arrange_tokens<OutputType::kBfloat16>, job, image, tokens);
  }
  const Grid grid = {static_cast<unsigned>(plan.blocks), Shape::kThreads, Shape::kBytes};
  const auto launch_main = [&](auto kernel) {
    launch_grid(launch, grid, kernel, weight_map(job, launch.device, kGroupRows), job, plan, image,
                split);
  };
  switch (scale_kind(job, 1)) {
    case ScaleKind::kPlain:
      return launch_main(wgmma_decode<Shape, ScaleKind::kPlain>);
    case ScaleKind::kNested:
      return launch_main(wgmma_decode<Shape, ScaleKind::kNested>);
    case ScaleKind::kPacked:
      return launch_main(wgmma_decode<Shape, ScaleKind::kPacked>);
  }
}

const char* unsupported(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability != 90)
    return "needs the warpgroup products of compute capability 9.0";
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  if (problem.tokens > kMostTokens) return "multiplies up to 512 tokens";
  return nullptr;
}

std::size_t workspace_bytes(const Problem& problem) {
  return with_choice(problem, [&](auto choice) {
    return static_cast<std::size_t>(Workspace<typename decltype(choice)::Shape>(problem).bytes);
  });
}

void launch_wgmma(const Job& job, const Launch& launch) {
  with_choice(job, [&](auto choice) { launch_choice<decltype(choice)>(job, launch); });
}

}  // namespace

Variant matmul_wgmma_decode() {
  Variant variant;
  variant.name = "wgmma_decode";
  variant.summary = "fused, up to 512 tokens; Hopper's warpgroup products, weights in registers";
  variant.traits.launches = 2;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.mirrors = "the fastest for many tokens on Hopper";
  variant.unsupported = unsupported;
  variant.workspace_bytes = workspace_bytes;
  variant.launch = launch_wgmma;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
