#pragma once

// The epilogue of a grouped product: accumulators become the outputs of slots, with the bias of
// their expert and the weight of the slot.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/experts/expert_tiles.cuh"
#include "cuda/matmul/experts/slot_weight.cuh"
#include "cuda/matmul/pair_table.cuh"
#include "cuda/memory.cuh"

#include <type_traits>

namespace nf4bench::kernels::cuda {

// A slot of a tile, as those who store its outputs find it in shared memory.
struct ListedSlot {
  int slot;
  float weight;
};

// What stands before the slots of a tile: which rows of which expert's matrix it has, and how many
// slots.
struct TileHeader {
  int expert;
  int row;
  int slots;
  int none;
};

__device__ __forceinline__ ListedSlot list_slot(const Job& job, int slot) {
  return {slot, slot_weight(job, slot)};
}

// Where outputs of slots go, two neighbours in one store: to the sums of slots, in float32, which
// are added up later, or to the output. kSingly: to either, one by one. kActivated: what a gate and
// its up become, to the output.
enum class SlotStore { kSums, kOutputs, kSingly, kActivated };

// Calls use(std::integral_constant<SlotStore, ...>). A choice at each store costs as much as the
// rest of an epilogue.
template <class Use>
__device__ __forceinline__ void with_slot_store(const GroupedPlan& plan, const float* sums,
                                                const Use& use) {
  if (plan.activates()) {
    use(std::integral_constant<SlotStore, SlotStore::kActivated>{});
  } else if (plan.outputs % 2 != 0 || plan.outputs >= 1 << 29) {
    use(std::integral_constant<SlotStore, SlotStore::kSingly>{});
  } else if (sums != nullptr) {
    use(std::integral_constant<SlotStore, SlotStore::kSums>{});
  } else {
    use(std::integral_constant<SlotStore, SlotStore::kOutputs>{});
  }
}

// Stores what slots have of two neighbouring rows of an expert's matrix, as far as it has them, or
// of a gate and an up. The first, `row`, is even.
template <OutputType kType, SlotStore kStore>
class SlotOutputs {
 public:
  __device__ __forceinline__ SlotOutputs(const Job& job, const GroupedPlan& plan, float* sums,
                                         int expert, int row)
      : activate_(plan.activation), left_(plan.outputs - row) {
    const int column = kStore == SlotStore::kActivated ? row / 2 : row;
    const bool is_apart = kStore == SlotStore::kActivated && !plan.in_turns;
    const std::int64_t first = std::int64_t{expert} * plan.outputs + (is_apart ? column : row);
    const int second = is_apart ? plan.columns : 1;
    bias_[0] = left_ > 0 ? bias_of<kType>(job, first) : 0.0f;
    bias_[1] = left_ > 1 ? bias_of<kType>(job, first + second) : 0.0f;
    is_sums_ = kStore == SlotStore::kSums || (kStore == SlotStore::kSingly && sums != nullptr);
    const int bytes = is_sums_ ? 4 : 2;
    at_ = static_cast<std::uint8_t*>(is_sums_ ? sums : job.output) + std::int64_t{column} * bytes;
    stride_ = static_cast<Stride>(plan.columns) * bytes;
  }

  // Stores nothing unless `is_one`.
  __device__ __forceinline__ void store(bool is_one, ListedSlot to, float first,
                                        float second) const {
    first = __fadd_rn(first, bias_[0]) * to.weight;
    second = __fadd_rn(second, bias_[1]) * to.weight;
    std::uint8_t* at = at_ + std::uint64_t{static_cast<unsigned>(to.slot)} * stride_;
    is_one = is_one && left_ > 0;
    if constexpr (kStore == SlotStore::kSums) {
      store_if(is_one, at, __float_as_uint(first), __float_as_uint(second));
    } else if constexpr (kStore == SlotStore::kOutputs) {
      store_if(is_one, at, pack_pair<kType>(first, second));
    } else if constexpr (kStore == SlotStore::kActivated) {
      store_if(is_one, at, round_to<kType>(activate_.fast(first, second)));
    } else if (is_one) {
      store_one(at, first);
      if (left_ > 1) store_one(at + (is_sums_ ? 4 : 2), second);
    }
  }

 private:
  // In bytes. Short ones cost one multiplication a store.
  using Stride = std::conditional_t<kStore == SlotStore::kSingly, std::uint64_t, std::uint32_t>;

  __device__ __forceinline__ void store_one(std::uint8_t* at, float value) const {
    if (is_sums_) {
      *reinterpret_cast<float*>(at) = value;
    } else {
      *reinterpret_cast<std::uint16_t*>(at) = round_to<kType>(value);
    }
  }

  ActivationFunction activate_;
  std::uint8_t* at_;  // of slot 0
  Stride stride_;     // from a slot to the next
  int left_;
  bool is_sums_;
  float bias_[2];
};

}  // namespace nf4bench::kernels::cuda
