#pragma once

// What mma_ring is compiled for, and which of it a product gets. Plain host code.

#include "cuda/matmul/ring/ring_shape.hpp"
#include "cuda/matmul/schedule/stage_plan.hpp"
#include "cuda/shared_bytes.hpp"
#include "variant.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace nf4bench::kernels::cuda {

// What is compiled, and what it takes in nanoseconds on an H200, as StageCosts says.
template <class ShapeType, ScaleTarget kTargetValue, int kStageNs, int kSpreadNs, int kTeamNs>
struct RingChoice {
  using Shape = ShapeType;
  static constexpr ScaleTarget kTarget = kTargetValue;
  static constexpr StageCosts kCosts = {.stage = kStageNs, .spread = kSpreadNs, .team = kTeamNs};
};

inline constexpr ScaleTarget kSums = ScaleTarget::kAccumulators;
inline constexpr ScaleTarget kPairs = ScaleTarget::kWeights;

using For8 = RingChoice<RingShape<2, 4, 4, 1, 4, 5, 4>, kSums, 720, 3000, 1500>;
using For16 = RingChoice<RingShape<2, 4, 4, 2, 4, 4, 4>, kSums, 850, 3000, 1500>;
using For32 = RingChoice<RingShape<2, 4, 4, 4, 4, 3, 4>, kPairs, 1150, 3500, 2000>;
using For64 = RingChoice<RingShape<8, 1, 2, 8, 2, 3, 4>, kPairs, 1800, 5000, 3000>;
using For64Small = RingChoice<RingShape<4, 2, 2, 8, 2, 4, 4>, kPairs, 950, 4000, 2000>;
using For128 = RingChoice<RingShape<8, 1, 2, 16, 2, 2, 0>, kPairs, 3100, 6000, 4000>;

// For cards that have 99 KiB of shared memory a block.
using Small8 = RingChoice<RingShape<1, 4, 4, 1, 4, 4, 4>, kSums, 500, 3000, 1500>;
using Small16 = RingChoice<RingShape<1, 4, 4, 2, 4, 3, 4>, kSums, 600, 3000, 1500>;
using Small32 = RingChoice<RingShape<1, 4, 4, 4, 4, 2, 4>, kPairs, 800, 3500, 2000>;
using Small64 = RingChoice<RingShape<4, 2, 2, 8, 2, 2, 4>, kPairs, 1200, 5000, 3000>;

// The same, for those whose tensor cores add up in float16 at twice the rate.
using Float16Sums32 =
    RingChoice<Small32::Shape, ScaleTarget::kFloat16Accumulators, 800, 3500, 2000>;
using Float16Sums64 =
    RingChoice<Small64::Shape, ScaleTarget::kFloat16Accumulators, 1200, 5000, 3000>;

// For Turing, which has 64 KiB.
using Turing8 = RingChoice<RingShape<2, 2, 2, 1, 2, 4, 4>, kSums, 300, 3000, 1500>;
using Turing16 = RingChoice<RingShape<2, 2, 2, 2, 2, 3, 4>, kSums, 400, 3000, 1500>;
using Turing32 = RingChoice<RingShape<2, 2, 2, 4, 2, 2, 4>, kPairs, 600, 3500, 2000>;

// For weights that lie transposed, each input of which has a scale of its own.
template <class Choice>
inline constexpr int kTransposedStageNs = Choice::kCosts.stage*(Choice::Shape::kTokens <= 16 ? 30
                                                                : Choice::Shape::kTokens <= 32
                                                                    ? 25
                                                                    : 21) /
                                          20;
template <class Choice>
using TransposedChoice =
    RingChoice<typename Choice::Shape::Transposed, kPairs, kTransposedStageNs<Choice>,
               Choice::kCosts.spread, Choice::kCosts.team>;

// For weights of blocksize 32.
using Blocks32For16 = RingChoice<RingShape<1, 4, 4, 2, 8, 3, 4, 32>, kSums, 640, 3000, 1500>;
using Blocks32For64 = RingChoice<RingShape<4, 2, 2, 8, 4, 2, 4, 32>, kSums, 1150, 5000, 3000>;
using TuringBlocks32 = RingChoice<RingShape<2, 2, 2, 4, 4, 2, 4, 32>, kSums, 700, 3500, 2000>;

inline constexpr std::size_t kTuringBytes = std::size_t{64} << 10;
inline constexpr std::size_t kSmallBytes = std::size_t{99} << 10;
inline constexpr std::size_t kLargeBytes = std::size_t{163} << 10;  // as an A100 has

template <std::size_t kMost, class... Choices>
constexpr bool fit = ((Choices::Shape::kBytes <= kMost) && ...);
static_assert(fit<kTuringBytes, Turing8, Turing16, Turing32, TuringBlocks32>);
static_assert(fit<kSmallBytes, Small8, Small16, Small32, Small64, Blocks32For16, Blocks32For64>);
static_assert(fit<kLargeBytes, For8, For16, For32, For64, For64Small, For128>);

// Sets of shapes. A configuration forces one that is smaller than the device's, or one that adds up
// the products of each block in float16, which no device chooses by itself.
enum class RingShapeSet { kTuring, kSmall, kFloat16Sums, kLarge };
inline constexpr const char* kRingConfigNames[] = {"large", "small", "float16_sums", nullptr};

inline RingShapeSet ring_shape_set(const Launch& launch) {
  if (launch.device.compute_capability < 80) return RingShapeSet::kTuring;
  const auto is_config = [&](const char* name) {
    return launch.config != nullptr && std::strcmp(launch.config, name) == 0;
  };
  if (is_config("small")) return RingShapeSet::kSmall;
  if (is_config("float16_sums")) return RingShapeSet::kFloat16Sums;
  return shared_bytes_a_block(launch.device) < kLargeBytes ? RingShapeSet::kSmall
                                                           : RingShapeSet::kLarge;
}

template <class Function>
auto with_row_choice(const Problem& problem, RingShapeSet set, Function use) {
  const std::int64_t tokens = problem.tokens;
  if (problem.block_shift == 5) {
    if (set == RingShapeSet::kTuring) return use(TuringBlocks32{});
    return tokens <= 16 ? use(Blocks32For16{}) : use(Blocks32For64{});
  }
  switch (set) {
    case RingShapeSet::kTuring:
      return tokens <= 8 ? use(Turing8{}) : tokens <= 16 ? use(Turing16{}) : use(Turing32{});
    case RingShapeSet::kSmall:
      if (tokens <= 8) return use(Small8{});
      if (tokens <= 16) return use(Small16{});
      return tokens <= 32 ? use(Small32{}) : use(Small64{});
    case RingShapeSet::kFloat16Sums:
      if (tokens <= 8) return use(Small8{});
      if (tokens <= 16) return use(Small16{});
      return tokens <= 32 ? use(Float16Sums32{}) : use(Float16Sums64{});
    case RingShapeSet::kLarge:
      break;
  }
  // Small layers occupy more multiprocessors with fewer rows and tokens a tile.
  const bool is_large = problem.elements > std::int64_t{24} << 20;
  if (tokens <= 8) return use(For8{});
  if (tokens <= 16) return use(For16{});
  if (tokens <= 32) return use(For32{});
  if (!is_large) return use(For64Small{});
  return tokens <= 64 ? use(For64{}) : use(For128{});
}

// Calls use(RingChoice) for what `problem` is computed with.
template <class Function>
auto with_ring_choice(const Problem& problem, RingShapeSet set, Function use) {
  return with_row_choice(problem, set, [&](auto choice) {
    if constexpr (decltype(choice)::Shape::kBlockInputs == 64) {
      // Tiles of 128 tokens would leave no registers for scales.
      constexpr bool kFits = decltype(choice)::Shape::kTokens <= 64;
      using Choice = std::conditional_t<kFits, decltype(choice), For64>;
      if (problem.transposed) return use(TransposedChoice<Choice>{});
    }
    return use(choice);
  });
}

// Of a product's tokens those that the first launch multiplies. The others, which would be half a
// tile of 128 or less, get a smaller tile in a launch of their own.
inline std::int64_t first_ring_tokens(const Problem& problem, RingShapeSet set) {
  return with_ring_choice(problem, set, [&](auto choice) {
    constexpr int kTokens = decltype(choice)::Shape::kTokens;
    const std::int64_t rest = problem.tokens % kTokens;
    return kTokens == 128 && rest <= 64 ? problem.tokens - rest : problem.tokens;
  });
}

inline constexpr int kMostRingBlocks = 192;  // of a grid, one a multiprocessor

template <class Choice>
StagePlan plan_ring(const Problem& problem, const DeviceFacts& device) {
  using Shape = typename Choice::Shape;
  const int token_groups = static_cast<int>(block_count(problem.tokens, Shape::kTokens));
  const int tiles = static_cast<int>(block_count(problem.outputs, Shape::kRows)) * token_groups;
  StagePlan plan = plan_tiles(tiles, static_cast<int>(block_count(problem.inputs, Shape::kInputs)),
                              std::min(device.multiprocessors, kMostRingBlocks), Choice::kCosts);
  plan.token_groups = token_groups;
  return plan;
}

}  // namespace nf4bench::kernels::cuda
