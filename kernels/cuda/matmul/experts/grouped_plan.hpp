#pragma once

// How a grouped product is cut, from its sizes alone: the routing is known to the device only, and
// one CUDA graph serves them all. Plain host code.

#include "activation.hpp"
#include "variant.hpp"

#include <cmath>
#include <cstdint>

namespace nf4bench::kernels::cuda {

// So many that their tables find room in shared memory.
inline constexpr int kMostExperts = 512;

// Up to so many slots each block sorts itself; more are sorted by a launch before, which also
// gathers their rows.
inline constexpr int kMostOwnSlots = 1024;

struct GroupedPlan {
  int experts = 0;
  int outputs = 0;  // of a matrix
  int columns = 0;  // of a row of y: half of them where gates and ups are activated
  int slots = 0;    // of all tokens
  int top_k = 1;
  int stages = 0;      // of a tile
  int row_groups = 0;  // tiles that cover the rows of a matrix
  // Rows of a matrix that a tile has, where these are activated gates and ups of the same columns
  // in turns, and slots of an expert.
  int tile_outputs = 0;
  int tile_slots = 0;
  Activation activation;
  bool in_turns = false;  // as Grouping says

  NF4BENCH_HOST_DEVICE bool activates() const { return columns != outputs; }
  // Whether rows of a tile are from both halves of a matrix in turns.
  NF4BENCH_HOST_DEVICE bool alternates() const { return activates() && !in_turns; }
};

inline GroupedPlan plan_grouped(const Job& job, int tile_outputs, int tile_slots,
                                int stage_inputs) {
  GroupedPlan plan;
  plan.experts = static_cast<int>(job.group.experts);
  plan.outputs = static_cast<int>(job.outputs);
  plan.columns = static_cast<int>(output_columns(job));
  plan.in_turns = job.group.in_turns;
  if (plan.activates()) plan.activation = *job.activation;
  plan.slots = static_cast<int>(slots_of(job));
  plan.top_k = static_cast<int>(job.group.top_k);
  plan.stages = static_cast<int>(block_count(job.inputs, stage_inputs));
  plan.row_groups = static_cast<int>(block_count(job.outputs, tile_outputs));
  plan.tile_outputs = tile_outputs;
  plan.tile_slots = tile_slots;
  return plan;
}

// Why the kernels that walk such plans cannot do a problem, but for what each cannot; null: they
// can.
inline const char* unsupported_grouped(const Problem& problem) {
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  if (problem.inputs > std::int64_t{1} << 24) return "needs at most 2^24 inputs";
  if (problem.group.own_offsets) return "needs one offset for all experts";
  if (problem.group.experts > kMostExperts) return "has up to 512 experts";
  if (slots_of(problem) > std::int64_t{1} << 24) return "multiplies up to 2^24 slots";
  return nullptr;
}

// Where weights lie transposed a tile has neighbouring columns.
inline constexpr const char* kNeedsTurns = "activates gates and ups of such matrices in turns only";
inline bool lacks_turns(const Problem& problem) {
  return problem.group.activates && problem.transposed && !problem.group.in_turns;
}

// What a launch that sorts slots does with their rows of x: gathers them in sorted order, gathers
// them and transposes the pairs of each 64 inputs as produce_tokens.cuh says, or leaves them.
enum class RoutedInput { kSorted, kRegrouped, kLeft };

// What that launch has left.
struct RoutedRows {
  int* rows = nullptr;   // as ExpertTables,
  int* tiles = nullptr;  // likewise
  int* order = nullptr;
  std::uint8_t* input = nullptr;  // gathered rows
};

// Tiles of slots that there may be, whatever the routing.
inline std::int64_t most_tiles(const Problem& problem, int tile_slots) {
  const std::int64_t slots = slots_of(problem);
  const std::int64_t hit = slots < problem.group.experts ? slots : problem.group.experts;
  return hit + (slots - hit) / tile_slots;
}

// Tiles of slots to expect of all experts where tokens choose evenly: the number of an expert's
// slots is close to a normal one.
inline double expected_tiles(const Problem& problem, int tile_slots) {
  const auto experts = static_cast<double>(problem.group.experts);
  const double mean = static_cast<double>(slots_of(problem)) / experts;
  const double chance = static_cast<double>(problem.group.top_k) / experts;
  const double deviation = std::sqrt(mean * std::fmax(1.0 - chance, 0.05));
  double tiles = 1.0 - std::exp(-mean);  // experts that are hit
  for (int i = 1; i * tile_slots < mean + 6.0 * deviation; ++i) {
    tiles += 0.5 * std::erfc((i * tile_slots + 0.5 - mean) / (deviation * 1.41421356));
  }
  return std::fmin(tiles * experts, static_cast<double>(most_tiles(problem, tile_slots)));
}

// The workspace of a product whose slots are sorted before, in bytes from its start.
struct RoutedWorkspace {
  std::int64_t tiles;  // both tables, one behind the other
  std::int64_t order;  // the slot of each row, sorted by expert
  std::int64_t input;  // rows of x, gathered
  std::int64_t bytes;

  RoutedWorkspace(const Problem& problem, RoutedInput copies)
      : tiles((problem.group.experts + 1) * 4),
        order(block_count(2 * tiles, 256) * 256),
        input(order + block_count(slots_of(problem) * 4, 256) * 256),
        bytes(input + (copies == RoutedInput::kLeft ? 0 : slots_of(problem) * problem.inputs * 2)) {
  }
};

}  // namespace nf4bench::kernels::cuda
