#pragma once

// What a variant is asked to compute, as far as that is known without memory: sizes and types.
// C++17 and std only.

#include "nf4/format.hpp"

#include <cstdint>

namespace nf4bench::kernels {

// The words of the format that kernels are made of.
using nf4::block_count;
using nf4::codebook_value;
using nf4::kCodes;
using nf4::kMinBlocksize;
using nf4::kNestedBlocksize;
using nf4::OutputType;
using nf4::packed_bytes;
using nf4::size_in_bytes;

// A product with a stack of matrices, of which each row takes one: an expert. A slot is one of the
// experts that a token chose; slots are counted token by token.
struct Grouping {
  std::int64_t experts = 0;      // matrices of the stack; 0: the weight is one matrix
  std::int64_t top_k = 1;        // slots of a token
  int id_bytes = 8;              // of an id: 4 or 8
  bool ends = false;             // tokens lie sorted by expert, ids say where those of each end
  bool slots_have_rows = false;  // x has a row for each slot, else one for each token
  bool sums_slots = false;       // y has a row for each token, its slots added up, else one a slot
  bool own_offsets = false;      // nested scales have an offset for each expert
  // y has what Job::activation makes of a row's gates and ups: first all gates, or both in turns.
  bool activates = false;
  bool in_turns = false;
};

// What stands between the two products of an expert.
enum class ActivationKind : std::uint8_t { kSilu, kGeluTanh, kGptOss, kRelu2 };

// A whole layer of experts: y[token] = sum over its slots of weight[slot] act(x W^T) V^T, whose
// weight is the stack of all W, and behind it that of all V. See layer.hpp.
struct Layer {
  std::int64_t columns = 0;  // of what act gives, and V takes; 0: the problem is one product
  ActivationKind activation = ActivationKind::kSilu;
};

// An NF4 weight, and what is wanted of it. Has no pointers: whether a variant can do it, the
// workspace, the traffic and the memory of a run follow from it before anything is allocated.
struct Problem {
  std::int64_t elements = 0;  // of the weight; may exceed 2^31
  std::int64_t blocks = 0;    // block_count(elements, 1 << block_shift)
  int block_shift = 6;        // log2 of the blocksize: 5 to 12
  bool nested = false;        // scales are codes with a nested absmax, a map and an offset
  // The weight as a matrix W[outputs, inputs], and the rows of x in y = x W^T.
  std::int64_t outputs = 0;  // N
  std::int64_t inputs = 0;   // K; elements == outputs * inputs, of a stack that for each expert
  std::int64_t tokens = 0;   // M; 0 for operations that have none
  bool transposed = false;   // W, of a stack each matrix, lies as [inputs, outputs]
  OutputType output_type = OutputType::kFloat16;
  // Elements between the end of a row of y and the next, which are not touched. Only the kernels
  // that own.hpp chooses from know it, for products with one matrix.
  std::int64_t output_gap = 0;
  Grouping group = {};
  Layer layer = {};
};

// Slots of a grouped product.
NF4BENCH_HOST_DEVICE constexpr std::int64_t slots_of(const Problem& problem) {
  return problem.tokens * problem.group.top_k;
}

// Rows of x.
NF4BENCH_HOST_DEVICE constexpr std::int64_t input_rows(const Problem& problem) {
  return problem.group.slots_have_rows ? slots_of(problem) : problem.tokens;
}

// Elements of a row of y.
NF4BENCH_HOST_DEVICE constexpr std::int64_t output_columns(const Problem& problem) {
  return problem.group.activates ? problem.outputs / 2 : problem.outputs;
}

// Elements from a row of y to the next.
NF4BENCH_HOST_DEVICE constexpr std::int64_t output_stride(const Problem& problem) {
  return problem.outputs + problem.output_gap;
}

// Whether two outputs may be stored at once, in all rows, where y starts at a multiple of both.
NF4BENCH_HOST_DEVICE constexpr bool has_output_pairs(const Problem& problem) {
  return (problem.outputs | problem.output_gap) % 2 == 0;
}

// Where element (n, k) of a matrix lies among all of the weight; of a stack that of an expert.
NF4BENCH_HOST_DEVICE constexpr std::int64_t element_of(const Problem& problem, std::int64_t expert,
                                                       std::int64_t n, std::int64_t k) {
  const std::int64_t within = problem.transposed ? k * problem.outputs + n : n * problem.inputs + k;
  return expert * problem.outputs * problem.inputs + within;
}

// The product of so many rows with one matrix of the stack.
constexpr Problem problem_of_one(const Problem& problem, std::int64_t rows) {
  Problem one = problem;
  one.group = {};
  one.elements = problem.outputs * problem.inputs;
  one.blocks = one.elements >> problem.block_shift;
  one.tokens = rows;
  return one;
}

// What a variant may decide on about the device it runs on.
struct DeviceFacts {
  int compute_capability = 0;  // 10 * major + minor: 75, 80, 90, ...; 0 on the CPU
  int multiprocessors = 0;     // CUDA: SMs; CPU: threads to use; 0: the caller's
  std::int64_t l2_bytes = 0;   // last-level cache
  // CUDA: the memory's peak; 0: what cards of its compute capability usually have.
  double memory_bytes_per_s = 0.0;
  int card_capability = 0;  // of the card itself, where it stands in for an older one; 0: the same
};

}  // namespace nf4bench::kernels
