#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace nf4bench {

// What makes measurements of different reports the same cell: the geometry, the variant and how it
// was launched. Names of tensors do not matter.
struct CellKey {
  std::vector<std::int64_t> shape;
  int blocksize = 0;
  AbsmaxKind absmax_kind = AbsmaxKind::kNested;
  std::string operation;
  OutputType output_type = OutputType::kFloat16;
  CacheMode cache = CacheMode::kCold;
  LaunchMode launch = LaunchMode::kGraph;
  std::string variant;

  // clang-tidy 14 takes the comparison with 0 that this is made of for one with a pointer.
  auto operator<=>(const CellKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

CellKey key_of(const ReportTensor& tensor, const Measurement& measurement);

// "4096x14336"
std::string shape_text(const CellKey& key);

// Everything but the variant: "4096x14336 block 64 nested  bf16  cold graph"
std::string block_text(const CellKey& key);

// True when `a` and `b` differ in nothing but the variant.
bool is_same_block(const CellKey& a, const CellKey& b);

// True when the variant matches any of `patterns` (names with * and ?), or there are none.
bool is_selected(const CellKey& key, const std::vector<std::string>& patterns);

}  // namespace nf4bench
