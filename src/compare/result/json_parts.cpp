#include "compare/result/json_parts.hpp"

namespace nf4bench::compare {

std::vector<json::JsonMember> key_members(const CellKey& key) {
  return {{"shape", json::json_integers(key.geometry.shape)},
          {"blocksize", json::json_integer(key.geometry.blocksize)},
          {"nested", json::json_bool(key.geometry.absmax_kind == nf4::AbsmaxKind::kNested)},
          {"operation", json::json_string(key.cell.operation)},
          {"variant", json::json_string(key.variant)},
          {"output_dtype", json::json_string(to_string(key.cell.output_type))},
          {"tokens", key.cell.tokens > 0 ? json::json_integer(key.cell.tokens) : json::json_null()},
          {"cache", json::json_string(to_string(key.cell.cache))},
          {"launch", json::json_string(to_string(key.cell.launch))}};
}

}  // namespace nf4bench::compare
