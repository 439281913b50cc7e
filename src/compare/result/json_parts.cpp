#include "compare/result/json_parts.hpp"

namespace nf4bench {

std::vector<JsonMember> key_members(const CellKey& key) {
  return {{"shape", json_integers(key.shape)},
          {"blocksize", json_integer(key.blocksize)},
          {"nested", json_bool(key.absmax_kind == AbsmaxKind::kNested)},
          {"operation", json_string(key.operation)},
          {"variant", json_string(key.variant)},
          {"output_dtype", json_string(to_string(key.output_type))},
          {"cache", json_string(to_string(key.cache))},
          {"launch", json_string(to_string(key.launch))}};
}

}  // namespace nf4bench
