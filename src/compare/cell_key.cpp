#include "compare/cell_key.hpp"

#include "base/text.hpp"
#include "report/table/parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::compare {

CellKey key_of(const record::ReportTensor& tensor, const record::Measurement& measurement) {
  return {.shape = tensor.shape,
          .blocksize = tensor.blocksize,
          .absmax_kind = tensor.absmax_kind,
          .operation = measurement.operation,
          .output_type = measurement.output_type,
          .cache = measurement.cache,
          .launch = measurement.launch,
          .variant = measurement.variant};
}

std::string shape_text(const CellKey& key) {
  return fmt::format("{}", fmt::join(key.shape, "x"));
}

std::string block_text(const CellKey& key) {
  return fmt::format("{} block {} {}  {}", shape_text(key), key.blocksize,
                     key.absmax_kind == nf4::AbsmaxKind::kNested ? "nested" : "plain",
                     report::cell_name(key.output_type, key.cache, key.launch));
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
