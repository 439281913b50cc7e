// Fused, for a few slots: mma_linear for one token, with a stack of weights. The matrices that
// slots have chosen lie one below the other in a tall product, slot by slot, so that all
// multiprocessors read even where few experts are hit. Nothing is sorted: each warp reads the ids
// itself.

#include "activation.hpp"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/experts/grouped_plan.hpp"
#include "cuda/matmul/experts/slot_weight.cuh"
#include "cuda/matmul/experts/variants.hpp"
#include "cuda/matmul/limits.hpp"
#include "cuda/matmul/linear/integer_vector.cuh"
#include "cuda/matmul/linear/linear_launch.cuh"
#include "routing.hpp"

namespace nf4bench::kernels::cuda {
namespace {

// Each slot reads the matrix that it chose, so slots that share one are left to others.
constexpr int kMostLinearSlots = 16;
constexpr int kSparse = 8;  // experts for each slot of several tokens

struct SlotPlan {
  int slots = 0;
  int outputs = 0;     // of a matrix
  int columns = 0;     // of a row of y
  int slot_tiles = 0;  // of its rows, or of its gates
  int rows = 0;        // of activations
  // Tiles that are one block's: of all slots, the same rows, where they are added up; of gates and
  // their ups, where these are activated; else one.
  int together = 1;
  UnitPlan units;  // of the matrices of all slots, or of one where all slots are together
  Activation activation;
  float one_by_slot_tiles = 0.0f;
  float one_by_together = 0.0f;
};

PlannedUnits plan_slots(const Problem& problem, const DeviceFacts& device, SlotPlan& plan) {
  plan.slots = static_cast<int>(slots_of(problem));
  plan.outputs = static_cast<int>(problem.outputs);
  plan.columns = static_cast<int>(output_columns(problem));
  plan.slot_tiles = count_of(plan.columns, kBoxRows);
  plan.rows = static_cast<int>(input_rows(problem));
  Problem tall = problem;
  tall.outputs = std::int64_t{plan.slot_tiles} * kBoxRows;
  if (problem.group.sums_slots) {
    plan.together = plan.slots;
  } else {
    if (problem.group.activates) plan.together = 2;
    tall.outputs *= plan.slots;
  }
  const int boxes = plan.rows * count_of(problem.inputs, kBoxColumns);
  PlannedUnits planned = plan_units(tall, device, {1, 4, 100, plan.together}, [&](int, int units) {
    return VectorLayout(boxes, units).bytes;
  });
  plan.units = planned.plan;
  plan.one_by_slot_tiles = 1.0f / static_cast<float>(plan.slot_tiles);
  plan.one_by_together = 1.0f / static_cast<float>(plan.together);
  return planned;
}

#if __CUDA_ARCH__ >= 800

// Rows of the matrix of a slot.
struct SlotTile {
  int slot;
  int row;

  __device__ __forceinline__ SlotTile(const SlotPlan& plan, int own_tile) {
    const int rows = quotient(own_tile, plan.one_by_together);
    const int tile = first_row(rows) / kBoxRows;
    const int slot_among = quotient(tile, plan.one_by_slot_tiles);
    const int step = own_tile - rows * plan.together;
    const int to_ups = plan.outputs - plan.columns;  // 0: it steps from slot to slot
    row = (tile - slot_among * plan.slot_tiles) * kBoxRows + step * to_ups;
    slot = min(slot_among + (to_ups > 0 ? 0 : step), plan.slots - 1);
  }
};

// Of the slot that has the lane's number.
struct OwnSlot {
  int expert = -1;
  float weight = 0.0f;

  __device__ __forceinline__ OwnSlot(const Job& job, const SlotPlan& plan) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (lane >= plan.slots) return;
    expert = chosen_expert(job, lane);
    weight = slot_weight(job, lane);
  }
};

// Turns what units and lanes of quads have left into outputs: of each slot, activated or not, or of
// each token with the sum over its slots, in their order.
template <OutputType kType>
class SlotSums {
 public:
  __device__ __forceinline__ SlotSums(const Job& job, const SlotPlan& plan, const OwnSlot& own,
                                      float4* partials)
      : job_(job), plan_(plan), own_(own), partials_(partials) {}

  __device__ __forceinline__ void finish() const {
    const bool is_last = !job_.group.sums_slots && !job_.group.activates;
    const int count = own_tiles(plan_.units) * plan_.together * kBoxRows * kLanes;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kUnitThreads) {
      const int row = i / kLanes % kBoxRows;
      const int tile = i / (kLanes * kBoxRows);
      const SlotTile at(plan_, tile);
      const int expert = __shfl_sync(0xffffffffu, own_.expert, at.slot);
      const float weight = __shfl_sync(0xffffffffu, own_.weight, at.slot);
      float value = sum_of(tile, row);
      const int n = at.row + row;
      if (i % kLanes != 0 || n >= plan_.outputs) continue;
      const std::int64_t bias = std::int64_t{max(expert, 0)} * plan_.outputs + n;
      value = expert < 0 ? 0.0f : __fadd_rn(value, bias_of<kType>(job_, bias)) * weight;
      if (is_last) {
        store(at.slot, n, value);
      } else {
        first_partial(tile, row)->x = value;
      }
    }
    if (is_last) return;
    __syncthreads();
    job_.group.activates ? activate_tiles() : add_up_slots();
  }

 private:
  static constexpr int kLanes = 4;  // a row

  __device__ __forceinline__ void activate_tiles() const {
    const int count = own_tiles(plan_.units) * kBoxRows;
    const ActivationFunction activate(plan_.activation);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kUnitThreads) {
      const int row = i % kBoxRows;
      const int tile = i / kBoxRows * 2;
      const SlotTile at(plan_, tile);
      const int n = at.row + row;
      if (n >= plan_.columns) continue;
      const float gate = first_partial(tile, row)->x;
      store(at.slot, n, activate.fast(gate, first_partial(tile + 1, row)->x));
    }
  }

  __device__ __forceinline__ void add_up_slots() const {
    const auto tokens = static_cast<int>(job_.tokens);
    const int sums = own_tiles(plan_.units) * tokens * kBoxRows;
    for (int i = static_cast<int>(threadIdx.x); i < sums; i += kUnitThreads) {
      const int row = i % kBoxRows;
      const int token = i / kBoxRows % tokens;
      const auto top_k = static_cast<int>(job_.group.top_k);
      const int tile = i / (kBoxRows * tokens) * plan_.together + token * top_k;
      const int n = SlotTile(plan_, tile).row + row;
      if (n >= plan_.outputs) continue;
      float total = 0.0f;
#pragma unroll 4
      for (int slot = 0; slot < top_k; ++slot) {
        total = __fadd_rn(total, first_partial(tile + slot, row)->x);
      }
      store(token, n, total);
    }
  }

  __device__ __forceinline__ float4* first_partial(int tile, int row) const {
    return partials_ + tile * plan_.units.units * kBoxRows + row;
  }

  __device__ __forceinline__ float sum_of(int tile, int row) const {
    const float4* quads = first_partial(tile, row);
    float sum = 0.0f;
    for (int unit = static_cast<int>(threadIdx.x) % kLanes; unit < plan_.units.units;
         unit += kLanes) {
      const float4 quad = quads[unit * kBoxRows];
      sum += (quad.x + quad.y) + (quad.z + quad.w);
    }
#pragma unroll
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    }
    return sum;
  }

  __device__ __forceinline__ void store(int row, int n, float value) const {
    static_cast<std::uint16_t*>(job_.output)[row * plan_.columns + n] = round_to<kType>(value);
  }

  const Job& job_;
  const SlotPlan& plan_;
  const OwnSlot& own_;
  float4* partials_;
};

#endif

// `job` has the stack as one matrix.
template <OutputType kType, ScaleKind kKind, int kBoxes>
__global__ void __launch_bounds__(kUnitThreads, 1)
    grouped_linear(const __grid_constant__ CUtensorMap map, const __grid_constant__ Job job,
                   const __grid_constant__ SlotPlan plan,
                   const __grid_constant__ LineAndResidual::Tables initial_tables) {
#if __CUDA_ARCH__ >= 800
  using Layout = VectorLayout;
  using Tables = LineAndResidual::Tables;
  extern __shared__ __align__(1024) std::uint8_t shared[];
  const UnitPlan& units = plan.units;
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  const int lane = threadIdx.x % 32;
  const int row = lane / 4;
  const int tiles = own_tiles(units) * plan.together;
  const int all_boxes = plan.rows * units.boxes;
  const Layout layout(all_boxes, tiles * units.units);

  using Ring = WeightRing<kUnitSlots>;
  const std::uint32_t slots = shared_address(shared) + warp * Ring::kBytes;
  Ring ring(map, job, slots,
            shared_address(shared) + Layout::kBarriers + warp * Ring::kBarrierBytes);
  auto* scale_map = reinterpret_cast<float*>(shared + Layout::kMap);
  NestedMap nested_map = {scale_map, 0.0f};
  constexpr bool kHasMap = kKind != ScaleKind::kPlain;
  if constexpr (kHasMap) {
    if (threadIdx.x < 256) scale_map[threadIdx.x] = load_in_place(job.nested_map + threadIdx.x);
    nested_map.offset = nested_offset(job);
  }
  if (threadIdx.x < 32) {
    reinterpret_cast<std::uint32_t*>(shared + Layout::kZeros)[threadIdx.x] = 0;
  }
  if (threadIdx.x < kTableWords<Tables>) {
    reinterpret_cast<std::uint32_t*>(shared + Layout::kTables)[threadIdx.x] =
        table_word(initial_tables, threadIdx.x);
  }
  allow_next_kernel();
  wait_for_previous_kernel();

  const OwnSlot own(job, plan);
  const auto stack_row = [&](const SlotTile& at) {
    return max(__shfl_sync(0xffffffffu, own.expert, at.slot), 0) * plan.outputs + at.row;
  };
  UnitWalk fills(warp, tiles, units);  // where the ring's next fill comes from
  int fill_row = stack_row({plan, fills.tile});
  const auto next_fill = [&](unsigned n) -> BoxPosition {
    if (n != 0 && n % kBoxes == 0) {
      fills.advance(units);
      fill_row = stack_row({plan, fills.tile});
    }
    return {fill_row, fills.unit * kBoxes + static_cast<int>(n % kBoxes), fills.tile < tiles};
  };
  const auto fill_slots = [&](int first, int last) {
#pragma unroll
    for (int n = first; n < last; ++n) ring.fill(n, next_fill(n));
  };
  UnitWalk walk(warp, tiles, units);
  LaneScales<kKind, kBoxes> next_scales;
  const auto load_scales = [&] {
    const int first = stack_row({plan, walk.tile});
    if (walk.tile >= tiles) return;
    const int last = static_cast<int>(job.outputs) - 1;
    next_scales.load(job, {min(first + row, last), min(first + row + 8, last), walk.unit * kBoxes});
  };
  fill_slots(0, kEarlySlots);
  load_scales();
  Job vector = job;
  vector.tokens = 1;
  vector.inputs = plan.rows * job.inputs;
  quantize_vector<kType>(vector, all_boxes, shared, [&] { fill_slots(kEarlySlots, kUnitSlots); });
  __syncthreads();

  const Tables tables = load_tables<Tables>(shared_address(shared) + Layout::kTables);
  const VectorLane operands(layout, shared_address(shared), slots);
  auto* partials = reinterpret_cast<float*>(shared + layout.partials) + lane;
  multiply_units(walk, tiles, units, ring, next_fill, next_scales, load_scales, nested_map,
                 operands, tables, partials, [&](int tile) {
                   return static_cast<int>(input_row(job, SlotTile(plan, tile).slot)) * units.boxes;
                 });
  __syncthreads();
  SlotSums<kType>(job, plan, own, reinterpret_cast<float4*>(shared + layout.partials)).finish();
#endif
}

template <OutputType kType>
void launch_typed(const Job& job, const Launch& launch) {
  Job stack = job;
  stack.outputs = job.group.experts * job.outputs;
  SlotPlan plan;
  const PlannedUnits planned = plan_slots(job, launch.device, plan);
  if (job.group.activates) plan.activation = *job.activation;
  with_unit_kind(stack, planned.unit_boxes, [&](auto kind, auto boxes) {
    launch_grid(launch, planned.grid,
                grouped_linear<kType, decltype(kind)::value, decltype(boxes)::value>,
                weight_map(stack, launch.device, kBoxRows), stack, plan, kLineTables);
  });
}

const char* unsupported(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability < 80) return "needs integer products of compute capability 8.0";
  if (problem.transposed) return kNeedsRows;
  if (const char* const why = unsupported_grouped(problem)) return why;
  if (problem.inputs % kBoxColumns != 0) return "needs a multiple of 256 inputs";
  if (problem.group.in_turns) return "activates gates that stand before their ups";
  if (problem.group.ends) return "needs ids of slots, not ends of rows";
  const std::int64_t slots = slots_of(problem);
  if (slots > kMostLinearSlots) return "multiplies up to 16 slots";
  if (problem.tokens > 1 && slots * kSparse > problem.group.experts) {
    return "needs slots that seldom share an expert";
  }
  if (problem.outputs > std::int64_t{1} << 20) return "needs at most 2^20 outputs";
  SlotPlan plan;
  const PlannedUnits planned = plan_slots(problem, device, plan);
  if (planned.grid.shared_bytes > shared_bytes_a_block(device)) {
    return "needs activations that fit into shared memory";
  }
  return nullptr;
}

}  // namespace

Variant experts_grouped_linear() {
  Variant variant;
  variant.name = "grouped_linear";
  variant.summary = "fused, up to 16 slots; mma_linear for a stack";
  variant.traits.launches = 1;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.activates = true;
  variant.traits.mirrors = "mma_linear, for stacks";
  variant.unsupported = unsupported;
  variant.launch = [](const Job& job, const Launch& launch) {
    dispatch_16_bit(job, [&](auto type) { launch_typed<decltype(type)::value>(job, launch); });
  };
  return variant;
}

}  // namespace nf4bench::kernels::cuda
