#pragma once

// Which experts tokens choose, and what calls of products take besides the weight: rows of x and,
// where the weight is a stack, the ids and weights of slots.

#include "problem.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::operation {

// What calls take, one after the other in this order.
struct CallParts {
  std::span<const std::byte> rows;          // of x
  std::span<const std::byte> ids;           // int64, one a slot; empty for a single matrix
  std::span<const std::byte> slot_weights;  // float32; empty unless slots are summed
};

// Rows of y.
constexpr std::int64_t output_rows(const kernels::Problem& problem) {
  return problem.group.sums_slots ? problem.tokens : slots_of(problem);
}

// Weights that each slot is multiplied with: all of a matrix, or of a layer's two.
constexpr std::int64_t products_of_slot(const kernels::Problem& problem) {
  return problem.group.experts > 0 ? problem.elements / problem.group.experts
                                   : problem.outputs * problem.inputs;
}

// Bytes of x alone, and of all parts.
std::int64_t row_bytes(const kernels::Problem& problem);
std::int64_t call_bytes(const kernels::Problem& problem);

// `input` of call_bytes() taken apart. Empty parts for an empty one.
CallParts parts_of(const kernels::Problem& problem, std::span<const std::byte> input);

// Values of `type` become their negatives.
void negate(nf4::OutputType type, std::span<std::byte> values);

// What a call of some tokens of `problem` takes, of what a call of all takes.
std::vector<std::byte> call_of_tokens(const kernels::Problem& problem,
                                      std::span<const std::byte> input, std::int64_t first,
                                      std::int64_t count);

// The expert of a slot, or -1; 0 for a single matrix.
std::int64_t expert_of(const kernels::Problem& problem, const CallParts& parts, std::int64_t slot);
// What its products are multiplied with.
double slot_weight(const CallParts& parts, std::int64_t slot);

enum class RoutingKind : std::uint8_t { kUniform, kZipf, kNormal, kOne, kBalanced, kFile };

// How tokens choose experts.
struct Routing {
  RoutingKind kind = RoutingKind::kUniform;
  double strength = 0.0;  // of kZipf and kNormal
  double dead = 0.0;      // share of the experts that nobody chooses
  std::string file;
};

// "uniform", "zipf:0.9", "normal:1.05:dead=0.2", "one", "balanced" or a path that ends in ".npy".
// Throws Error(kUsage) naming --routing.
Routing parse_routing(const std::string& word);

// Ids [tokens, top_k], each token's all different, drawn token by token: those of the first tokens
// are the same whatever the number of tokens. Throws Error(kUsage) when `routing` leaves fewer than
// top_k experts.
std::vector<std::int64_t> draw_ids(const kernels::Problem& problem, const Routing& routing,
                                   std::uint64_t seed);

// Ids and weights of slots as bytes. Weights are all different and do not sum to 1.
std::vector<std::byte> routing_bytes(const kernels::Problem& problem,
                                     std::span<const std::int64_t> ids, std::uint64_t seed);

// How ids share the work out.
struct ExpertLoad {
  std::int64_t hit = 0;      // experts that any slot has
  std::int64_t fullest = 0;  // slots of the one that has most
  std::int64_t slots = 0;    // that have an expert
};
ExpertLoad load_of(const kernels::Problem& problem, const CallParts& parts);

}  // namespace nf4bench::operation
