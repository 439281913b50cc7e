#include "compare/result/json_parts.hpp"

namespace nf4bench::compare {

std::vector<json::JsonMember> key_members(const CellKey& key) {
  return {{"shape", json::json_integers(key.shape)},
          {"blocksize", json::json_integer(key.blocksize)},
          {"nested", json::json_bool(key.absmax_kind == nf4::AbsmaxKind::kNested)},
          {"operation", json::json_string(key.operation)},
          {"variant", json::json_string(key.variant)},
          {"output_dtype", json::json_string(to_string(key.output_type))},
          {"cache", json::json_string(to_string(key.cache))},
          {"launch", json::json_string(to_string(key.launch))}};
}

}  // namespace nf4bench::compare
