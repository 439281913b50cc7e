#include "compare/cell_key.hpp"

#include "base/text.hpp"
#include "report/table/parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace nf4bench::compare {

CellKey key_of(const record::ReportTensor& tensor, const record::Measurement& measurement) {
  record::Cell cell = measurement.cell.over_all_tensors();
  cell.device.clear();
  return {.geometry = tensor.geometry, .cell = std::move(cell), .variant = measurement.variant};
}

std::string shape_text(const CellKey& key) {
  return fmt::format("{}", fmt::join(key.geometry.shape, "x"));
}

std::string block_text(const CellKey& key) {
  return fmt::format("{} block {} {}  {}", shape_text(key), key.geometry.blocksize,
                     to_string(key.geometry.absmax_kind), report::cell_name(key.cell));
}

bool is_same_block(const CellKey& a, const CellKey& b) {
  CellKey renamed = a;
  renamed.variant = b.variant;
  return renamed == b;
}

bool is_selected(const CellKey& key, const std::vector<std::string>& patterns) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
           return matches_wildcard(pattern, key.variant);
         });
}

}  // namespace nf4bench::compare
