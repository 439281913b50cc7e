#include "io/safetensors/shard_index.hpp"

#include "fuzz/second_reader.hpp"
#include "fuzz/targets.hpp"

#include <set>

namespace nf4bench::fuzz {

void fuzz_shard_index(Bytes input) {
  io::ShardIndex index;
  const bool accepted = accepts([&] {
    index = io::read_shard_index(io::ByteSource::in_memory("model.safetensors.index.json", input));
  });
  const auto second = second_index(text_of(input));
  require(accepted == second.has_value(), "both readers accept an index or both refuse it");
  if (!accepted) return;
  require(index.tensors.size() == second->size() && index.shard_of.size() == second->size(),
          "both readers see the same number of tensors");
  for (std::size_t i = 0; i < second->size(); ++i) {
    require(index.tensors[i] == (*second)[i].first, "both readers see the same tensor");
    require(index.shards.at(index.shard_of[i]) == (*second)[i].second,
            "both readers see the same shard");
  }
  const std::set<std::string> distinct(index.shards.begin(), index.shards.end());
  require(distinct.size() == index.shards.size(), "each shard is listed once");
}

}  // namespace nf4bench::fuzz
