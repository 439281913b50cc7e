#include "io/safetensors/shard_index.hpp"

#include "base/error.hpp"
#include "json/json_events.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace nf4bench::io {
namespace {

class IndexWalk {
 public:
  explicit IndexWalk(const std::string& where) : where_(where) {}

  void operator()(const json::JsonEvent& event) {
    if (event.depth == 0) {
      if (event.kind != json::JsonKind::kBeginObject && event.kind != json::JsonKind::kEndObject) {
        throw input_error(where_, "index", json::describe(event), "an object");
      }
    } else if (event.depth == 1) {
      on_field(event);
    } else if (event.depth == 2 && is_weight_map_) {
      on_mapping(event);
    }
  }

  ShardIndex finish() {
    if (!has_weight_map_) throw input_error(where_, "the field weight_map is missing");
    return std::move(index_);
  }

 private:
  void on_field(const json::JsonEvent& event) {
    if (event.kind == json::JsonKind::kKey) {
      is_weight_map_ = event.text == "weight_map";
      has_weight_map_ = has_weight_map_ || is_weight_map_;
    } else if (is_weight_map_ && event.kind != json::JsonKind::kBeginObject &&
               event.kind != json::JsonKind::kEndObject) {
      throw input_error(where_, "weight_map", json::describe(event), "an object");
    }
  }

  void on_mapping(const json::JsonEvent& event) {
    if (event.kind == json::JsonKind::kKey) {
      index_.tensors.add(event.text);
      return;
    }
    const std::size_t tensor = index_.tensors.size() - 1;
    if (event.kind != json::JsonKind::kString) {
      throw input_error(where_, "shard of tensor " + in_quotes(index_.tensors[tensor]),
                        json::describe(event), "a file name");
    }
    check_shard_name(event.text, tensor);
    const auto [shard, is_new] =
        shards_.try_emplace(std::string(event.text), static_cast<std::uint32_t>(shards_.size()));
    if (is_new) {
      if (index_.shards.size() == kMaxShards) {
        throw input_error(where_, "shards", fmt::format("more than {}", kMaxShards),
                          "at most that many");
      }
      index_.shards.push_back(shard->first);
    }
    index_.shard_of.push_back(shard->second);
  }

  // An index may be hostile and must not lead out of its own folder.
  void check_shard_name(std::string_view name, std::size_t tensor) const {
    constexpr std::string_view kForbidden("/\\\0", 3);
    if (name.find_first_of(kForbidden) != std::string_view::npos ||
        !name.ends_with(".safetensors") || name == ".safetensors") {
      throw input_error(where_, "shard of tensor " + in_quotes(index_.tensors[tensor]),
                        in_quotes(name),
                        "the name, without a path, of a .safetensors file beside the index");
    }
  }

  const std::string& where_;
  ShardIndex index_;
  std::map<std::string, std::uint32_t, std::less<>> shards_;
  bool is_weight_map_ = false;
  bool has_weight_map_ = false;
};

}  // namespace

ShardIndex read_shard_index(const ByteSource& source) {
  if (source.size() > kMaxIndexBytes) {
    throw input_error(source.name(), "size", fmt::format("{} bytes", source.size()),
                      fmt::format("at most {} for an index", kMaxIndexBytes));
  }
  const std::string text = source.read_text(0, source.size());
  IndexWalk walk(source.name());
  json::read_json(source.name(), text, std::ref(walk));
  return walk.finish();
}

}  // namespace nf4bench::io
