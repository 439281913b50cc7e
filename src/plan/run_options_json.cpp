#include "plan/run_options_json.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "json/json_node.hpp"
#include "json/json_text.hpp"
#include "json/json_tree.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace nf4bench::plan {
namespace {

template <class Value>
constexpr std::array<Value, 0> kValues = {};
template <>
constexpr std::array kValues<nf4::OutputType> = {
    nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16, nf4::OutputType::kFloat32};
template <>
constexpr std::array kValues<nf4::AbsmaxKind> = {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested};
template <>
constexpr std::array kValues<record::CacheMode> = {record::CacheMode::kCold,
                                                   record::CacheMode::kHot};
template <>
constexpr std::array kValues<record::LaunchMode> = {
    record::LaunchMode::kGraph, record::LaunchMode::kStream, record::LaunchMode::kSpaced};
template <>
constexpr std::array kValues<record::Activations> = {
    record::Activations::kNormal, record::Activations::kOutlier, record::Activations::kFile};
template <>
constexpr std::array kValues<record::VerifyScope> = {record::VerifyScope::kAll,
                                                     record::VerifyScope::kSampled};

json::JsonText text_of(bool value) {
  return json::json_bool(value);
}

json::JsonText text_of(int value) {
  return json::json_integer(value);
}

json::JsonText text_of(std::int64_t value) {
  return json::json_integer(value);
}

json::JsonText text_of(std::uint64_t value) {
  return json::json_unsigned(value);
}

json::JsonText text_of(double value) {
  return json::json_number(value);
}

json::JsonText text_of(const std::string& value) {
  if (is_utf8(value)) return json::json_string(value);
  throw Error(ErrorKind::kUsage,
              fmt::format("\"{}\" is not UTF-8, so that no other process of this program can be "
                          "given it",
                          escaped(value)));
}

template <class Value>
requires std::is_enum_v<Value> json::JsonText text_of(Value value) {
  return json::json_string(to_string(value));
}

template <class Value>
json::JsonText text_of(const std::vector<Value>& values) {
  return json::json_array_of(values, [](const Value& value) { return text_of(value); });
}

void read(const json::JsonNode& node, bool& value) {
  value = node.boolean();
}

void read(const json::JsonNode& node, int& value) {
  value = static_cast<int>(
      node.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

void read(const json::JsonNode& node, std::int64_t& value) {
  value = node.integer(std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max());
}

void read(const json::JsonNode& node, std::uint64_t& value) {
  value = node.unsigned_integer();
}

void read(const json::JsonNode& node, double& value) {
  value = node.number();
}

void read(const json::JsonNode& node, std::string& value) {
  value = node.string();
}

template <class Value>
requires std::is_enum_v<Value>
void read(const json::JsonNode& node, Value& value) {
  const std::string word = node.string();
  for (const Value each : kValues<Value>) {
    if (word != to_string(each)) continue;
    value = each;
    return;
  }
  node.refuse("a word that this option takes");
}

template <class Value>
void read(const json::JsonNode& node, std::vector<Value>& values) {
  values.clear();
  node.each([&](const json::JsonNode& item) { read(item, values.emplace_back()); });
}

}  // namespace

std::string run_options_to_json(const record::RunOptions& options) {
  std::vector<json::JsonMember> members;
  fields(options, [&](const char* name, const auto& value) {
    members.push_back({name, text_of(value)});
  });
  return json::json_object(members).text + "\n";
}

record::RunOptions run_options_from_json(std::string_view text, const std::string& source) {
  const json::JsonTree tree = json::parse_json(text, source);
  const json::JsonNode node(tree, source);
  record::RunOptions options;
  fields(options, [&](const char* name, auto& value) { read(node[name], value); });
  return options;
}

}  // namespace nf4bench::plan
