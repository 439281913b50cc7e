#pragma once

// A product of all rows with the experts they chose, on all cores: a thread gets some outputs'
// weights of an expert, a stretch of inputs at a time, and multiplies them with all rows that chose
// it. Where weights come from is for others to say.

#include "cpu/experts/routed_slots.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace nf4bench::kernels::cpu {

inline constexpr std::int64_t kTileOutputs = 16;
inline constexpr std::int64_t kTileInputs = 256;
inline constexpr std::int64_t kTileSlots = 64;
inline constexpr int kLanes = 8;  // sums of an output, added up at the end

// The workspace, in bytes from its start.
struct GroupedWorkspace {
  std::int64_t begins = 0;  // of each expert's slots in `order`, and the end of the last one's
  std::int64_t order;
  std::int64_t inputs;  // rows of x in float32
  std::int64_t sums;    // what slots contribute, where they are added up
  std::int64_t bytes;

  explicit GroupedWorkspace(const Problem& problem)
      : order((problem.group.experts + 1) * 8),
        inputs(order + slots_of(problem) * 8),
        sums(inputs + input_rows(problem) * problem.inputs * 4),
        bytes(sums + (problem.group.sums_slots ? slots_of(problem) * problem.outputs * 4 : 0)) {}
};

struct Routed {
  std::int64_t* begins;
  std::int64_t* order;
  float* inputs;
  float* sums;

  explicit Routed(const Job& job) {
    const GroupedWorkspace parts(job);
    auto* const first = static_cast<std::byte*>(job.workspace);
    begins = reinterpret_cast<std::int64_t*>(first);
    order = reinterpret_cast<std::int64_t*>(first + parts.order);
    inputs = reinterpret_cast<float*>(first + parts.inputs);
    sums = reinterpret_cast<float*>(first + parts.sums);
  }
};

// Sorts slots by expert, in their order.
inline void route(const Job& job, const Routed& routed) {
  const std::int64_t experts = job.group.experts;
  std::fill_n(routed.begins, experts + 1, 0);
  for (std::int64_t slot = 0; slot < slots_of(job); ++slot) {
    const int expert = expert_of(job, slot);
    if (expert >= 0) ++routed.begins[expert + 1];
  }
  for (std::int64_t e = 0; e < experts; ++e) routed.begins[e + 1] += routed.begins[e];
  for (std::int64_t slot = 0; slot < slots_of(job); ++slot) {
    const int expert = expert_of(job, slot);
    if (expert >= 0) routed.order[routed.begins[expert]++] = slot;
  }
  // Each has moved on to where the next one begins.
  for (std::int64_t e = experts; e > 0; --e) routed.begins[e] = routed.begins[e - 1];
  routed.begins[0] = 0;
}

// Adds products of `count` weights and inputs to an output's sums.
inline void add_products(const float* weights, const float* inputs, std::int64_t count,
                         float* sums) {
  std::int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += weights[k + lane] * inputs[k + lane];
  }
  for (int lane = 0; k + lane < count; ++lane) sums[lane] += weights[k + lane] * inputs[k + lane];
}

template <OutputType kType>
void finish_slot(const Job& job, const Routed& routed, std::int64_t slot, std::int64_t expert,
                 std::int64_t n, const float* lanes) {
  float sum = 0.0f;
  for (int lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  const float value = weigh_slot<kType>(job, slot, expert, n, sum);
  const std::int64_t at = slot * job.outputs + n;
  if (job.group.sums_slots) {
    routed.sums[at] = value;
  } else {
    static_cast<OutputBits<kType>*>(job.output)[at] = to_output_bits<kType>(value);
  }
}

template <OutputType kType, class GetTile>
void multiply_tile(const Job& job, const Routed& routed, const GetTile& get_tile,
                   std::int64_t expert, Range outputs) {
  const std::int64_t end = routed.begins[expert + 1];
  for (std::int64_t first = routed.begins[expert]; first < end; first += kTileSlots) {
    const std::int64_t slots = std::min(kTileSlots, end - first);
    float weights[kTileOutputs * kTileInputs];
    float sums[kTileSlots][kTileOutputs][kLanes] = {};
    for (std::int64_t k = 0; k < job.inputs; k += kTileInputs) {
      const Range inputs = {k, std::min(k + kTileInputs, job.inputs)};
      get_tile(expert, outputs, inputs, weights);
      for (std::int64_t i = 0; i < slots; ++i) {
        const std::int64_t row = input_row(job, routed.order[first + i]);
        for (std::int64_t n = 0; n < outputs.last - outputs.first; ++n) {
          add_products(weights + n * kTileInputs, routed.inputs + row * job.inputs + k,
                       inputs.last - inputs.first, sums[i][n]);
        }
      }
    }
    for (std::int64_t i = 0; i < slots; ++i) {
      for (std::int64_t n = outputs.first; n < outputs.last; ++n) {
        finish_slot<kType>(job, routed, routed.order[first + i], expert, n,
                           sums[i][n - outputs.first]);
      }
    }
  }
}

// Outputs of rows that no expert has written: those without one, and sums of slots.
template <OutputType kType>
void write_rest(const Job& job, const Routed& routed, Range rows) {
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  const std::int64_t added = job.group.top_k;
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    if (!job.group.sums_slots) {
      if (expert_of(job, row) < 0) std::fill_n(output + row * job.outputs, job.outputs, 0);
      continue;
    }
    for (std::int64_t n = 0; n < job.outputs; ++n) {
      float sum = 0.0f;
      for (std::int64_t i = row * added; i < (row + 1) * added; ++i) {
        if (expert_of(job, i) >= 0) sum += routed.sums[i * job.outputs + n];
      }
      output[row * job.outputs + n] = to_output_bits<kType>(sum);
    }
  }
}

// `get_tile(expert, outputs, inputs, weights)` fills in the weights of a tile, kTileInputs apart
// from one output to the next.
template <OutputType kType, class GetTile>
void multiply_grouped(const Job& job, const Launch& launch, const GetTile& get_tile) {
  const Routed routed(job);
  route(job, routed);
  for_each_part(launch, {input_rows(job), job.inputs}, [&](Range rows) {
    for (std::int64_t i = rows.first * job.inputs; i < rows.last * job.inputs; ++i) {
      routed.inputs[i] = value_at<kType>(job.input, i);
    }
  });
  const std::int64_t tiles = block_count(job.outputs, kTileOutputs);
  const auto tile = [&](std::int64_t part) {
    const std::int64_t n = part % tiles * kTileOutputs;
    multiply_tile<kType>(job, routed, get_tile, part / tiles,
                         {n, std::min(n + kTileOutputs, job.outputs)});
  };
  run_parts(launch.device.multiprocessors, job.group.experts * tiles, std::ref(tile));
  const std::int64_t rows = job.group.sums_slots ? job.tokens : slots_of(job);
  for_each_part(launch, {rows, job.outputs},
                [&](Range part) { write_rest<kType>(job, routed, part); });
}

}  // namespace nf4bench::kernels::cpu
