#pragma once

// The epilogue of a grouped product: accumulators become the outputs of slots, with the bias of
// their expert and the weight of the slot.

#include "cuda/matmul/experts/expert_tiles.cuh"
#include "cuda/matmul/experts/slot_weight.cuh"
#include "cuda/matmul/pair_table.cuh"

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

// Two neighbouring outputs of slots: rows `row` and `row` + 1 of an expert's matrix, as far as it
// has them. With `sums` the slots' own results go there, in float32, to be added up later.
template <OutputType kType>
class SlotOutputs {
 public:
  __device__ __forceinline__ SlotOutputs(const Job& job, const GroupedPlan& plan, float* sums,
                                         int expert, int row)
      : outputs_(plan.outputs), left_(plan.outputs - row) {
    const std::int64_t first = std::int64_t{expert} * outputs_ + row;
    bias_[0] = left_ > 0 ? bias_of<kType>(job, first) : 0.0f;
    bias_[1] = left_ > 1 ? bias_of<kType>(job, first + 1) : 0.0f;
    if (sums != nullptr) {
      sums_ = sums + row;
    } else {
      output_ = static_cast<std::uint16_t*>(job.output) + row;
    }
  }

  __device__ __forceinline__ void store(ListedSlot to, float first, float second) const {
    if (left_ <= 0) return;
    first = __fadd_rn(first, bias_[0]) * to.weight;
    second = __fadd_rn(second, bias_[1]) * to.weight;
    const std::int64_t at = std::int64_t{to.slot} * outputs_;
    if (sums_ != nullptr) {
      sums_[at] = first;
      if (left_ > 1) sums_[at + 1] = second;
      return;
    }
    const std::uint32_t pair = pack_pair<kType>(first, second);
    std::uint16_t* output = output_ + at;
    if (outputs_ % 2 == 0) {
      *reinterpret_cast<std::uint32_t*>(output) = pair;
      return;
    }
    output[0] = static_cast<std::uint16_t>(pair);
    if (left_ > 1) output[1] = static_cast<std::uint16_t>(pair >> 16);
  }

 private:
  int outputs_;
  int left_;
  float bias_[2];
  float* sums_ = nullptr;
  std::uint16_t* output_ = nullptr;
};

}  // namespace nf4bench::kernels::cuda
