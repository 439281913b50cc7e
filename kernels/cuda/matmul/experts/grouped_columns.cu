// Fused, for a few slots of matrices that lie transposed, on all cards. A block has 256 columns of
// a matrix, a part of the inputs, and all slots that chose the matrix; half a warp has an input at
// a time, 16 columns a lane. Weights are exact. A table in shared memory has the two codes of each
// byte sixteen times, so that no lane waits for another's bank. A launch behind adds up the parts,
// and the slots of a token where those are asked for.

#include "cuda/arithmetic.cuh"
#include "cuda/codebook.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/activations.cuh"
#include "cuda/matmul/experts/combine_slots.hpp"
#include "cuda/matmul/experts/grouped_plan.hpp"
#include "cuda/matmul/experts/slot_weight.cuh"
#include "cuda/matmul/experts/variants.hpp"
#include "cuda/matmul/limits.hpp"
#include "cuda/ptx.cuh"
#include "routing.hpp"

#include <algorithm>

namespace nf4bench::kernels::cuda {
namespace {

// With more tokens tensor cores are faster (gpt-oss-20b and Llama 4 on an H200).
constexpr int kMostTokens = 8;
constexpr int kMostNestedTokens = 4;
constexpr int kMostSlots = 64;  // two for each lane of a warp
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
constexpr int kLaneColumns = 16;
constexpr int kColumns = kLaneColumns * 16;  // of a block
constexpr int kBlockInputs = kWarps * 2;     // at a time
constexpr int kMostParts = 16;
constexpr int kCopies = 16;  // of the table: reads of eight bytes are those of half a warp at once

struct ColumnPlan {
  int slots;
  int units;        // of 256 columns, that cover a matrix
  int parts;        // of the inputs
  int part_inputs;  // of each but the last, which may have fewer
};

ColumnPlan plan_columns(const Problem& problem, const DeviceFacts& device) {
  // Of one token all blocks find room at once. Of more, some slots are left to others' blocks.
  const std::int64_t blocks = std::int64_t{problem.tokens == 1 ? 3 : 4} * device.multiprocessors;
  constexpr int kWholeInputs = 64;
  ColumnPlan plan;
  plan.slots = static_cast<int>(slots_of(problem));
  plan.units = static_cast<int>(block_count(problem.outputs, kColumns));
  const std::int64_t tiles = std::max<std::int64_t>(std::int64_t{plan.slots} * plan.units, 1);
  const std::int64_t parts = std::clamp<std::int64_t>(blocks / tiles, 1, kMostParts);
  plan.part_inputs = static_cast<int>(
      block_count(block_count(problem.inputs, kWholeInputs), parts) * kWholeInputs);
  plan.parts = static_cast<int>(block_count(problem.inputs, plan.part_inputs));
  return plan;
}

// Of kMostRows slots at a time.
template <int kMostRows>
struct ColumnShared {
  float2 codes[256][kCopies];
  float sums[kWarps][kMostRows][kColumns];
};

__device__ __forceinline__ void fill_codes(float2 (&codes)[256][kCopies]) {
  for (int i = threadIdx.x; i < 256 * kCopies; i += kThreads) {
    const int byte = i / kCopies;
    codes[byte][i % kCopies] = make_float2(kCodebook[byte >> 4], kCodebook[byte & 15]);
  }
}

// The slots whose expert is that of `slot`, as bits, and that expert; by a warp. No slots: an
// earlier one's block has them, or there is no expert, -1.
struct SharedExpert {
  std::uint64_t slots = 0;
  int expert;

  __device__ __forceinline__ SharedExpert(const Job& job, int slot, int count) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    int own[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      own[i] = lane + i * 32 < count ? expert_of(job, lane + i * 32) : -1;
    }
    expert = __shfl_sync(0xffffffffu, slot < 32 ? own[0] : own[1], slot % 32);
    if (expert < 0) return;
    const std::uint64_t low = __ballot_sync(0xffffffffu, own[0] == expert);
    const std::uint64_t high = __ballot_sync(0xffffffffu, own[1] == expert);
    slots = high << 32 | low;
    if ((slots & ((std::uint64_t{1} << slot) - 1)) != 0) slots = 0;
  }
};

// A lane's part of the products of kRows slots with its columns.
template <OutputType kType, bool kNested, int kRows>
class LaneColumns {
 public:
  // Beyond the last column that one's neighbours stand in.
  __device__ __forceinline__ LaneColumns(const Job& job, int expert, int column, int first_input,
                                         const int (&slots)[kRows])
      : job_(job),
        packed_step_(std::int64_t{kBlockInputs / 2} * job.outputs),
        block_step_(kBlockInputs * (static_cast<unsigned>(job.outputs) / 64)),
        shift_(static_cast<int>(job.block_shift) - 6) {
    const int own_input = first_input + static_cast<int>(threadIdx.x) / 16;
    const std::int64_t input = std::int64_t{expert} * job.inputs + own_input;
    column = min(column, static_cast<int>(job.outputs) - kLaneColumns);
    packed_ = job.packed + (input * job.outputs + column) / 2;
    block_ = static_cast<unsigned>(input) * (block_step_ / kBlockInputs) + column / 64;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      rows_[r] = static_cast<const std::uint16_t*>(job.input) +
                 input_row(job, slots[r]) * job.inputs + own_input;
    }
  }

  // `codes`: the lane's copy of the table.
  __device__ __forceinline__ void multiply(std::uint32_t codes, int inputs) {
    constexpr int kBatch = kRows == 1 ? 6 : 4;  // loads under way at once
    int steps = inputs / kBlockInputs;
    for (; steps >= kBatch; steps -= kBatch) multiply_batch<kBatch>(codes);
    for (; steps > 0; --steps) multiply_batch<1>(codes);
  }

  // Adds up what the two lanes with the same columns have. to[r][0] is the sum of a slot's first
  // column.
  __device__ __forceinline__ void add_up(float (*to)[kColumns]) {
    const int half = static_cast<int>(threadIdx.x % 32) / 16;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      auto* fours = reinterpret_cast<float4*>(to[r] + threadIdx.x % 16 * kLaneColumns);
#pragma unroll
      for (int i = 0; i < kLaneColumns / 4; ++i) {
        float four[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const float sum = sums_[r][i * 4 + c];
          four[c] = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 16));
        }
        if (i / 2 == half) fours[i] = make_float4(four[0], four[1], four[2], four[3]);
      }
    }
  }

 private:
  template <int kBatch>
  __device__ __forceinline__ void multiply_batch(std::uint32_t codes) {
    uint2 words[kBatch];
    float scales[kBatch];
    std::uint16_t values[kBatch][kRows];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      words[i] = __ldg(reinterpret_cast<const uint2*>(packed_));
      scales[i] = block_scale<kNested>(job_, block_ >> shift_);
#pragma unroll
      for (int r = 0; r < kRows; ++r) values[i][r] = __ldg(rows_[r] + i * kBlockInputs);
      packed_ += packed_step_;
      block_ += block_step_;
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows_[r] += kBatch * kBlockInputs;
#pragma unroll
    for (int i = 0; i < kBatch; ++i) multiply(codes, words[i], scales[i], values[i]);
  }

  __device__ __forceinline__ void multiply(std::uint32_t codes, uint2 words, float scale,
                                           const std::uint16_t (&values)[kRows]) {
    float x[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) x[r] = widen<kType>(values[r]).x * scale;
#pragma unroll
    for (int byte = 0; byte < 8; ++byte) {
      const std::uint32_t word = byte < 4 ? words.x : words.y;
      // A byte's place in the table is 128 times the byte.
      static_assert(sizeof(float2) * kCopies == 128);
      const uint2 pair = load_constant_8(__dp4a(word, 128u << byte % 4 * 8, codes));
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        sums_[r][byte * 2] = __fmaf_rn(__uint_as_float(pair.x), x[r], sums_[r][byte * 2]);
        sums_[r][byte * 2 + 1] = __fmaf_rn(__uint_as_float(pair.y), x[r], sums_[r][byte * 2 + 1]);
      }
    }
  }

  const Job& job_;
  std::int64_t packed_step_;  // from one input of a lane to its next
  unsigned block_step_;       // the same in blocks
  int shift_;
  const std::uint8_t* packed_;
  unsigned block_;  // as if all had 64 weights
  const std::uint16_t* rows_[kRows];
  float sums_[kRows][kLaneColumns] = {};
};

// What a block has of a matrix.
struct ColumnTile {
  int expert;
  int column;
  int part;
  int first_input;
  int inputs;
};

// The products of the first kRows of `slots`, which it takes out.
template <OutputType kType, bool kNested, int kRows, class Shared>
__device__ __forceinline__ void multiply_rows(const Job& job, const ColumnPlan& plan, float* sums,
                                              const ColumnTile& tile, std::uint64_t& slots,
                                              Shared& shared) {
  int rows[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    rows[r] = __ffsll(static_cast<long long>(slots)) - 1;
    slots &= slots - 1;
  }
  const int lane_column = tile.column + static_cast<int>(threadIdx.x % 16) * kLaneColumns;
  LaneColumns<kType, kNested, kRows> lane(job, tile.expert, lane_column, tile.first_input, rows);
  lane.multiply(keep(shared_address(&shared.codes[0][threadIdx.x % kCopies])), tile.inputs);
  lane.add_up(shared.sums[threadIdx.x / 32]);
  __syncthreads();
  const std::int64_t n = tile.column + static_cast<int>(threadIdx.x);
  if (n < job.outputs) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float sum = tile.part == 0 ? bias_of<kType>(job, tile.expert * job.outputs + n) : 0.0f;
      for (int warp = 0; warp < kWarps; ++warp) {
        sum = __fadd_rn(sum, shared.sums[warp][r][threadIdx.x]);
      }
      sums[(std::int64_t{rows[r]} * plan.parts + tile.part) * job.outputs + n] =
          sum * slot_weight(job, rows[r]);
    }
  }
  __syncthreads();
}

// `sums`: of each slot those of its parts, one row behind the other.
template <OutputType kType, bool kNested, int kMostRows>
__global__ void __launch_bounds__(kThreads, kMostRows == 1 ? 3 : 2)
    grouped_columns(const __grid_constant__ Job job, const __grid_constant__ ColumnPlan plan,
                    float* sums) {
  static_assert(kThreads == kColumns);
  __shared__ ColumnShared<kMostRows> shared;
  fill_codes(shared.codes);
  allow_next_kernel();
  wait_for_previous_kernel();
  const int row = static_cast<int>(blockIdx.x) / plan.units;
  const int slot = row / plan.parts;
  ColumnTile tile;
  tile.column = (static_cast<int>(blockIdx.x) - row * plan.units) * kColumns;
  tile.part = row - slot * plan.parts;
  tile.first_input = tile.part * plan.part_inputs;
  tile.inputs = min(static_cast<int>(job.inputs) - tile.first_input, plan.part_inputs);
  const SharedExpert shares(job, slot, plan.slots);
  tile.expert = shares.expert;
  std::uint64_t slots = shares.slots;
  __syncthreads();
  while (slots != 0) {
    if (kMostRows == 1 || __popcll(slots) == 1) {
      multiply_rows<kType, kNested, 1>(job, plan, sums, tile, slots, shared);
    } else {
      multiply_rows<kType, kNested, kMostRows>(job, plan, sums, tile, slots, shared);
    }
  }
}

template <OutputType kType, bool kNested>
void launch_typed(const Job& job, const Launch& launch) {
  const ColumnPlan plan = plan_columns(job, launch.device);
  auto* sums = static_cast<float*>(job.workspace);
  const auto kernel =
      job.tokens == 1 ? grouped_columns<kType, kNested, 1> : grouped_columns<kType, kNested, 2>;
  launch_dependent(launch, static_cast<unsigned>(plan.slots * plan.parts * plan.units), kThreads,
                   kernel, job, plan, sums);
  launch_combine_slots(job, launch, sums, plan.parts);
}

void launch_columns(const Job& job, const Launch& launch) {
  dispatch_16_bit(job, [&](auto type) {
    constexpr OutputType kType = decltype(type)::value;
    job.nested ? launch_typed<kType, true>(job, launch) : launch_typed<kType, false>(job, launch);
  });
}

const char* unsupported(const Problem& problem, const DeviceFacts&) {
  if (!problem.transposed) return "needs matrices that lie transposed";
  if (problem.outputs % 64 != 0) return kNeedsWholeBlocks;
  if (problem.nested && problem.tokens > kMostNestedTokens) {
    return "multiplies up to 4 tokens where scales are nested";
  }
  if (problem.tokens > kMostTokens) return "multiplies up to 8 tokens";
  if (slots_of(problem) > kMostSlots) return "multiplies up to 64 slots";
  return unsupported_grouped(problem);
}

}  // namespace

Variant experts_grouped_columns() {
  Variant variant;
  variant.name = "grouped_columns";
  variant.summary = "fused, up to 8 tokens of transposed matrices; a block has 256 columns";
  variant.traits.launches = 2;
  variant.traits.inline_ptx = true;
  variant.traits.activates = true;
  variant.traits.mirrors = "one token's product, for stacks that lie transposed";
  variant.unsupported = unsupported;
  variant.workspace_bytes = [](const Problem& problem, const Launch& launch) {
    const int parts = plan_columns(problem, launch.device).parts;
    return static_cast<std::size_t>(slots_of(problem) * parts * problem.outputs * 4);
  };
  variant.launch = launch_columns;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
