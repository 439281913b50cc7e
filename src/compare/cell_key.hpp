#pragma once

#include "report/report.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::compare {

// What makes measurements of different reports the same cell: the geometry, the variant and how it
// was launched. Names of tensors do not matter.
struct CellKey {
  std::vector<std::int64_t> shape;
  int blocksize = 0;
  nf4::AbsmaxKind absmax_kind = nf4::AbsmaxKind::kNested;
  std::string operation;
  nf4::OutputType output_type = nf4::OutputType::kFloat16;
  record::CacheMode cache = record::CacheMode::kCold;
  record::LaunchMode launch = record::LaunchMode::kGraph;
  std::string variant;

  // clang-tidy 14 takes the comparison with 0 that this is made of for one with a pointer.
  auto operator<=>(const CellKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

CellKey key_of(const record::ReportTensor& tensor, const record::Measurement& measurement);

// "4096x14336"
std::string shape_text(const CellKey& key);

// Everything but the variant: "4096x14336 block 64 nested  bf16  cold graph"
std::string block_text(const CellKey& key);

// True when `a` and `b` differ in nothing but the variant.
bool is_same_block(const CellKey& a, const CellKey& b);

// True when the variant matches any of `patterns` (names with * and ?), or there are none.
bool is_selected(const CellKey& key, const std::vector<std::string>& patterns);

}  // namespace nf4bench::compare
