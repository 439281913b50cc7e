#include "json/json_node.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nf4bench::json {
namespace {

// What an error message calls a value.
std::string description(const JsonEvent& value) {
  switch (value.kind) {
    case JsonKind::kBoolean:
      return value.truth ? "true" : "false";
    case JsonKind::kFloat:
      return fmt::format("{}", value.number);
    case JsonKind::kNegative:
      return fmt::format("{}", value.signed_value);
    case JsonKind::kString:
      return fmt::format("\"{}\"", escaped(value.text, 40));
    default:
      return describe(value);
  }
}

std::optional<double> as_number(const JsonEvent& value) {
  const bool is_number = value.kind == JsonKind::kFloat || value.kind == JsonKind::kNegative ||
                         value.kind == JsonKind::kUnsigned;
  return is_number ? std::optional(value.number) : std::nullopt;
}

// JSON knows no integers: 3.0 and 3e2 are taken for what they are where doubles are exact.
std::optional<std::int64_t> as_integer(const JsonEvent& value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value.kind == JsonKind::kNegative) return value.signed_value;
  if (value.kind == JsonKind::kUnsigned && std::in_range<std::int64_t>(value.unsigned_value)) {
    return static_cast<std::int64_t>(value.unsigned_value);
  }
  const bool is_whole = value.kind == JsonKind::kFloat && std::abs(value.number) <= kExact &&
                        std::trunc(value.number) == value.number;
  return is_whole ? std::optional(static_cast<std::int64_t>(value.number)) : std::nullopt;
}

std::string number_wanted(double low) {
  return std::isinf(low) ? "a number" : fmt::format("a number from {} up", low);
}

}  // namespace

// Where the value of the field `name` is; nothing when this is no object or has no such field.
std::optional<JsonTree::Place> JsonNode::find(std::string_view name) const {
  if (!is(JsonKind::kBeginObject)) return std::nullopt;
  const JsonTree::Place end = tree_->behind(place_);
  const JsonTree::Place first = place_ + 1;
  const JsonTree::Place start = key_ == 0 ? first : key_;
  JsonTree::Place key = start;
  for (std::size_t i = 0; i < tree_->size(place_); ++i) {
    if (tree_->text(key) == name) {
      key_ = key;
      return key + 1;
    }
    key = tree_->behind(key + 1);
    if (key == end) key = first;
  }
  return std::nullopt;
}

bool JsonNode::has(std::string_view name) const {
  return find(name).has_value();
}

JsonNode JsonNode::operator[](std::string_view name) const {
  if (!is(JsonKind::kBeginObject)) refuse(fmt::format("an object with the field \"{}\"", name));
  if (const std::optional<JsonTree::Place> field = find(name)) return {*this, *field};
  const std::string path = tree_->path_to(place_);
  fail_at(path.empty() ? std::string(name) : fmt::format("{}.{}", path, name), "is missing");
}

void JsonNode::each(const std::function<void(const JsonNode&)>& take) const {
  if (!is(JsonKind::kBeginArray)) refuse("an array");
  JsonTree::Place place = place_ + 1;
  for (std::size_t i = 0; i < tree_->size(place_); ++i) {
    take({*this, place});
    place = tree_->behind(place);
  }
}

bool JsonNode::is_null() const {
  return is(JsonKind::kNull);
}

bool JsonNode::boolean() const {
  if (!is(JsonKind::kBoolean)) refuse("true or false");
  return value().truth;
}

double JsonNode::number(double low) const {
  const std::optional<double> found = as_number(value());
  if (!found || *found < low) refuse(number_wanted(low));
  return *found;
}

std::int64_t JsonNode::integer(std::int64_t low, std::int64_t high) const {
  const std::optional<std::int64_t> found = as_integer(value());
  if (!found || *found < low || *found > high) {
    refuse(fmt::format("an integer from {} to {}", low, high));
  }
  return *found;
}

std::uint64_t JsonNode::unsigned_integer() const {
  if (value().kind == JsonKind::kUnsigned) return value().unsigned_value;
  const std::optional<std::int64_t> found = as_integer(value());
  if (!found || *found < 0) refuse("an unsigned 64-bit integer");
  return static_cast<std::uint64_t>(*found);
}

std::string JsonNode::string() const {
  if (!is(JsonKind::kString)) refuse("a string");
  return std::string(tree_->text(place_));
}

std::optional<double> JsonNode::optional_number(double low) const {
  return is_null() ? std::nullopt : std::optional(number(low));
}

std::optional<int> JsonNode::optional_small_count() const {
  return is_null() ? std::nullopt : std::optional(small_count());
}

std::optional<bool> JsonNode::optional_bool() const {
  return is_null() ? std::nullopt : std::optional(boolean());
}

std::string JsonNode::string_or_empty() const {
  return is_null() ? std::string() : string();
}

std::vector<double> JsonNode::numbers(double low) const {
  std::vector<double> values;
  if (is(JsonKind::kBeginArray)) values.reserve(tree_->size(place_));
  each([&](const JsonNode& node) { values.push_back(node.number(low)); });
  return values;
}

std::vector<std::string> JsonNode::strings() const {
  std::vector<std::string> values;
  each([&](const JsonNode& node) { values.push_back(node.string()); });
  return values;
}

void JsonNode::fail(const std::string& problem) const {
  const std::string path = tree_->path_to(place_);
  fail_at(path.empty() ? "the file" : path, problem);
}

void JsonNode::fail_at(const std::string& path, const std::string& problem) const {
  throw Error(ErrorKind::kInput, fmt::format("{}: {}: {}", escaped(*source_), path, problem));
}

void JsonNode::refuse(const std::string& wanted) const {
  fail(fmt::format("found {}, wanted {}", description(value()), wanted));
}

}  // namespace nf4bench::json
