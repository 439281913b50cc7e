#pragma once

// What grouped_wgmma's tokens' warp does: it lists the slots of tiles and brings their rows. And
// what the weights' warp does besides copying.

#include "cuda/matmul/experts/find_tiles.cuh"
#include "cuda/memory.cuh"

#include <type_traits>

namespace nf4bench::kernels::cuda {

// Gathered rows as the copy engine brings them: all of a tile at once, or where it has fewer so
// many at a time, which takes longer for the same number.
struct GatheredRows {
  CUtensorMap tile;
  CUtensorMap part;
};
inline constexpr int kPartSlots = 32;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

using LaneWalk = ExpertWalk<true>;

// Writes the list of a tile, which its first activations say is there. Those who multiply read it
// rather than walk themselves, for which all of them would wait at the end of a tile. By a warp.
template <class Shape, bool kIsRouted>
__device__ __forceinline__ ListedSlot* list_tile(const Job& job, const RoutedRows& routed,
                                                 const LaneWalk& walk, std::uint8_t* shared,
                                                 int place) {
  using At = GroupedShared<Shape, kIsRouted>;
  auto* header = reinterpret_cast<TileHeader*>(shared + At::kSlotLists + place * At::kListBytes);
  auto* list = reinterpret_cast<ListedSlot*>(header + 1);
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (lane == 0) *header = {walk.expert(), walk.row_of_matrix(), walk.slots(), 0};
  for (int i = lane; i < walk.slots(); i += 32) {
    int slot = walk.first_slot() + i;
    if constexpr (kIsRouted) {
      slot = __ldg(routed.order + slot);
      list[i] = list_slot(job, slot);
    } else {
      if (!job.group.ends) slot = reinterpret_cast<const short*>(shared + At::kOrder)[slot];
      list[i] = {slot, reinterpret_cast<const float*>(shared + At::kSlotWeights)[slot]};
    }
  }
  __syncwarp();
  return list;
}

// Has the copy engine bring the rows of tiles from where they lie. By a warp, each lane of which
// has a row; those that a tile lacks are left as they are, for nobody stores their outputs.
template <class Shape, bool kIsRouted>
__device__ __forceinline__ void copy_rows(const Job& job, const GroupedPlan& plan,
                                          const RoutedRows& routed, std::uint8_t* shared) {
  using At = GroupedShared<Shape, kIsRouted>;
  static_assert(Shape::kTokenLayout == TokenLayout::kRows && Shape::kTokens <= 32);
  const WgmmaRings<Shape> rings(shared_address(shared));
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto inputs = static_cast<int>(job.inputs);
  const unsigned slots_a_row = job.group.slots_have_rows ? 1 : plan.top_k;
  RingPosition<Shape::kTokenSlots> at;
  RingPosition<At::kLists> list_at;
  const std::uint16_t* row = nullptr;  // of this lane's slot
  fence_global_proxies();
  for (LaneWalk walk(plan, tables_of<Shape, kIsRouted>(shared)); walk.valid(); walk.advance()) {
    wait_for_phase(rings.tokens.empty(at.slot), at.parity ^ 1);
    const int count = walk.slots();
    if (walk.begins_tile()) {
      const ListedSlot* list = list_tile<Shape, kIsRouted>(job, routed, walk, shared, list_at.slot);
      const unsigned index =
          lane < count ? static_cast<unsigned>(list[lane].slot) / slots_a_row : 0;
      row = static_cast<const std::uint16_t*>(job.input) + std::int64_t{index} * inputs;
      list_at.advance();
    }
    const int first = walk.stage() * 256;
    const int bytes = min(inputs - first, 256) * 2;
    const std::uint32_t barrier = rings.tokens.full(at.slot);
    if (lane == 0) arrive_expecting(barrier, count * bytes);
    if (lane < count) {
      copy_bulk(shared_address(shared) + Shape::kActivations + at.slot * Shape::kTokenSlotBytes +
                    lane * kTokenRowBytes,
                row + first, bytes, barrier);
    }
    at.advance();
  }
}

// Where weights are scaled, few slots of a tile are multiplied by products for as many, or for
// somewhat more: calls use(integral_constant<int>: for how many). With more than three such numbers
// ptxas would let no products run beside each other.
template <class Shape, class Use>
__device__ __forceinline__ void with_slots(int count, const Use& use) {
  const auto fits = [&](auto most) {
    constexpr int kMost = decltype(most)::value;
    constexpr bool kIsTried = Shape::kTokens == 96 ? kMost == 64 || kMost == 80 : kMost != 80;
    if constexpr (!kIsTried || kMost >= Shape::kTokens || kMost < Shape::kTokens / 4 ||
                  Shape::kScaleSums) {
      return false;
    } else {
      if (count > kMost) return false;
      use(most);
      return true;
    }
  };
  if (fits(std::integral_constant<int, 32>{}) || fits(std::integral_constant<int, 64>{}) ||
      fits(std::integral_constant<int, 80>{}) || fits(std::integral_constant<int, 128>{})) {
    return;
  }
  use(std::integral_constant<int, Shape::kTokens>{});
}

// Has the copy engine bring gathered rows. By a warp.
template <class Shape>
__device__ __forceinline__ void copy_gathered_rows(const GatheredRows& rows, const Job& job,
                                                   const GroupedPlan& plan,
                                                   const RoutedRows& routed, std::uint8_t* shared) {
  using At = GroupedShared<Shape, true>;
  const WgmmaRings<Shape> rings(shared_address(shared));
  const bool is_first = threadIdx.x % 32 == 0;
  RingPosition<Shape::kTokenSlots> at;
  RingPosition<At::kLists> list_at;
  fence_global_proxies();
  for (LaneWalk walk(plan, tables_of<Shape, true>(shared)); walk.valid(); walk.advance()) {
    int slots = 0;
    with_slots<Shape>(walk.slots(), [&](auto count) { slots = decltype(count)::value; });
    if (slots % kPartSlots != 0) slots = Shape::kTokens;
#pragma unroll 1
    for (int part = 0; part < 4 / Shape::kSlotQuarters; ++part) {
      wait_for_phase(rings.tokens.empty(at.slot), at.parity ^ 1);
      if (walk.begins_tile() && part == 0) {
        list_tile<Shape, true>(job, routed, walk, shared, list_at.slot);
        list_at.advance();
      }
      if (is_first) {
        const std::uint32_t barrier = rings.tokens.full(at.slot);
        arrive_expecting(barrier, slots * Shape::kSlotQuarters * 128);
        const std::uint32_t target =
            shared_address(shared) + Shape::kActivations + at.slot * Shape::kTokenSlotBytes;
        const int column = (walk.stage() * 4 + part * Shape::kSlotQuarters) * kQuarterInputs;
#pragma unroll
        for (int i = 0; i < Shape::kSlotQuarters; ++i) {
          const std::uint32_t to = target + i * Shape::kQuarterBytes;
          const int from = column + i * kQuarterInputs;
          if (slots == Shape::kTokens) {
            copy_box(to, {&rows.tile, from, walk.first_slot()}, barrier);
            continue;
          }
          for (int first = 0; first < slots; first += kPartSlots) {
            copy_box(to + first * kBoxBytes, {&rows.part, from, walk.first_slot() + first},
                     barrier);
          }
        }
      }
      at.advance();
    }
  }
}

// Where a tile begins, has L2 fetch the scales of its rows, which are asked for one stage ahead
// only: too late where tiles are short. By a warp.
template <class Shape>
__device__ __forceinline__ void prefetch_scales(const Job& job, const LaneWalk& walk) {
  if (!walk.begins_tile()) return;
  constexpr int kLine = 128;
  const auto* scales =
      job.nested ? job.absmax_codes : reinterpret_cast<const std::uint8_t*>(job.absmax);
  const int bytes = job.nested ? 1 : 4;
  for (int half = 0; half < (walk.alternates() ? 2 : 1); ++half) {
    const int row = walk.row_at(half);
    const std::int64_t first = std::int64_t{row} * job.inputs >> job.block_shift;
    const int rows = min(walk.step_of(Shape::kRows), static_cast<int>(job.outputs) - row);
    const std::int64_t blocks = std::int64_t{rows} * job.inputs >> job.block_shift;
    const std::uint8_t* begin = scales + first * bytes;
    for (std::int64_t at = threadIdx.x % 32 * kLine; at < blocks * bytes; at += 32 * kLine) {
      prefetch_l2(begin + at);
    }
  }
}

#endif

}  // namespace nf4bench::kernels::cuda
