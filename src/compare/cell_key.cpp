#include "compare/cell_key.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nf4bench::compare {

CellKey key_of(const record::ReportTensor& tensor, const record::Measurement& measurement) {
  record::Cell cell = measurement.cell.over_all_tensors();
  cell.device.clear();
  return {.geometry = tensor.geometry, .cell = std::move(cell), .variant = measurement.variant};
}

std::string shape_text(const CellKey& key) {
  return record::describe_shape(key.geometry);
}

std::string block_text(const CellKey& key) {
  return fmt::format("{} block {} {}  {}", shape_text(key), key.geometry.blocksize,
                     to_string(key.geometry.absmax_kind), report::cell_name(key.cell));
}

text::Columns<CellKey> key_columns() {
  using Key = CellKey;
  return {
      {{.key = "shape"}, [](const Key& each) { return each.geometry.shape; }},
      {{.key = "blocksize"}, [](const Key& each) { return each.geometry.blocksize; }},
      {{.key = "nested"},
       [](const Key& each) { return each.geometry.absmax_kind == nf4::AbsmaxKind::kNested; }},
      {{.key = "stack"},
       [](const Key& each) {
         return each.geometry.stack ? text::Value(describe(*each.geometry.stack)) : text::Value();
       }},
      {{.key = "operation"}, [](const Key& each) { return each.cell.operation; }},
      {{.name = "variant", .key = "variant", .most = 24},
       [](const Key& each) { return each.variant; }},
      {{.key = "output_dtype"}, [](const Key& each) { return to_string(each.cell.output_type); }},
      {{.key = "tokens"},
       [](const Key& each) {
         return each.cell.tokens > 0 ? text::Value(each.cell.tokens) : text::Value();
       }},
      {{.key = "cache"}, [](const Key& each) { return to_string(each.cell.cache); }},
      {{.key = "launch"}, [](const Key& each) { return to_string(each.cell.launch); }}};
}

bool is_selected(const CellKey& key, const std::vector<std::string>& patterns) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
           return matches_wildcard(pattern, key.variant);
         });
}

}  // namespace nf4bench::compare
