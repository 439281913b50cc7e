#pragma once

#include "base/words.hpp"
#include "nf4/format.hpp"

#include <compare>
#include <cstdint>
#include <string>

namespace nf4bench::record {

// Which data a sample finds in the last-level cache.
enum class CacheMode : std::uint8_t {
  kCold,  // buffer sets rotate, so that the cache holds nothing useful
  kHot,   // the same buffers again and again
};

// How launches are issued.
enum class LaunchMode : std::uint8_t {
  kGraph,   // replayed from a CUDA graph: GPU time
  kStream,  // plain launches (CUDA) or plain calls (CPU): what an eager caller pays
  kSpaced,  // replayed from a CUDA graph, each call behind a kernel that knows nothing of it: what
            // a call adds to the work around it
};

constexpr auto words(CacheMode /*any*/) {
  using enum CacheMode;
  return std::to_array<Word<CacheMode>>({{kCold, "cold"}, {kHot, "hot"}});
}

constexpr auto words(LaunchMode /*any*/) {
  using enum LaunchMode;
  return std::to_array<Word<LaunchMode>>(
      {{kGraph, "graph"}, {kStream, "stream"}, {kSpaced, "spaced"}});
}

// Whether launches are recorded once and replayed.
constexpr bool is_replayed(LaunchMode mode) {
  return mode != LaunchMode::kStream;
}

// The first operation there was: older reports do not name that of a stream ceiling.
inline constexpr const char* kDequantize = "dequantize";

// What variants are timed side by side in: measurements of one cell differ in the variant alone.
struct Cell {
  std::string operation;  // "dequantize", "matmul"
  std::string tensor;     // id of the tensor in the report
  std::string device;     // "cuda:0", "cpu"
  nf4::OutputType output_type = nf4::OutputType::kFloat16;
  std::int64_t tokens = 0;  // 0: the operation has none
  CacheMode cache = CacheMode::kCold;
  LaunchMode launch = LaunchMode::kGraph;

  // The same cell of every tensor: equal for cells that differ in the tensor alone.
  Cell over_all_tensors() const {
    Cell all = *this;
    all.tensor.clear();
    return all;
  }

  // The same cell with any number of tokens: equal for cells that differ in tokens alone.
  Cell over_all_tokens() const {
    Cell all = *this;
    all.tokens = 0;
    return all;
  }

  // The same cell of any operation: equal for a product forward and the one back.
  Cell over_all_operations() const {
    Cell all = *this;
    all.operation.clear();
    return all;
  }

  // clang-tidy 14 takes the comparison with 0 that this is made of for one with a pointer.
  auto operator<=>(const Cell&) const = default;  // NOLINT(modernize-use-nullptr)
};

}  // namespace nf4bench::record
