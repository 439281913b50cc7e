#pragma once

#include "report/report.hpp"

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::compare {

// What makes measurements of different reports the same cell: the geometry, the variant and how it
// was launched. Names of tensors and devices do not matter.
struct CellKey {
  record::Geometry geometry;
  record::Cell cell;  // without a tensor and a device
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

// The indices of `items` by block, both in order of appearance; `to_key` gives the key of an item.
template <typename Item, typename Function>
std::vector<std::vector<std::size_t>> blocks_of(const std::vector<Item>& items, Function&& to_key) {
  std::vector<std::vector<std::size_t>> blocks;
  std::map<CellKey, std::size_t> places;
  for (std::size_t i = 0; i < items.size(); ++i) {
    CellKey block = to_key(items[i]);
    block.variant.clear();
    const auto [place, is_new] = places.try_emplace(std::move(block), blocks.size());
    if (is_new) blocks.emplace_back();
    blocks[place->second].push_back(i);
  }
  return blocks;
}

// True when the variant matches any of `patterns` (names with * and ?), or there are none.
bool is_selected(const CellKey& key, const std::vector<std::string>& patterns);

}  // namespace nf4bench::compare
