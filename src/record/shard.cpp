#include "record/shard.hpp"

namespace nf4bench::record {

std::string shard_text(int index, int count) {
  const std::string text = "shard " + std::to_string(index);
  return count > 0 ? text + " of " + std::to_string(count) : text;
}

}  // namespace nf4bench::record
