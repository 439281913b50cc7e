#pragma once

// The report reader's own parts, shared by its source files.

#include "json/json_node.hpp"
#include "report/report.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::report {

// The index in `words` of the word that `node` holds; another word is refused.
std::size_t read_word(const json::JsonNode& node, const std::vector<std::string>& words);

// The one of `values` whose name `node` holds.
template <typename Enum>
Enum read_enum(const json::JsonNode& node, std::span<const Enum> values) {
  std::vector<std::string> words;
  for (const Enum value : values) words.emplace_back(to_string(value));
  return values[read_word(node, words)];
}

// Any operation, also one that this program does not have; as a word that is fit to print.
std::string read_operation(const json::JsonNode& node);

nf4::OutputType read_output_type(const json::JsonNode& node);
record::CacheMode read_cache(const json::JsonNode& node);
record::LaunchMode read_launch(const json::JsonNode& node);

template <typename Function>
auto read_all(const json::JsonNode& node, Function&& read_item) {
  std::vector<decltype(read_item(node))> values;
  node.each([&](const json::JsonNode& item) { values.push_back(read_item(item)); });
  return values;
}

// Null is the absence of a value.
template <typename Function>
auto read_optional(const json::JsonNode& node, Function&& read_value) {
  return node.is_null() ? std::nullopt : std::optional(read_value(node));
}

// The sections that say what ran, where and how.
record::ToolInfo read_tool(const json::JsonNode& node);
record::Shard read_shard(const json::JsonNode& node);
record::HostInfo read_host(const json::JsonNode& node);
record::DeviceInfo read_device(const json::JsonNode& node);
record::DeviceState read_device_state(const json::JsonNode& node);
record::Settings read_settings(const json::JsonNode& node);
record::ReportVariant read_variant(const json::JsonNode& node);

}  // namespace nf4bench::report
