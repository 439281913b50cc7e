#include "json/json_node.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nf4bench::json {
namespace {

// What an error message calls a value.
std::string description(const JsonTree& tree) {
  struct Describe {
    std::string operator()(std::nullptr_t) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(std::uint64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const {
      return fmt::format("\"{}\"", escaped(value, 40));
    }
    std::string operator()(const JsonTree::Array&) const { return "an array"; }
    std::string operator()(const JsonTree::Object&) const { return "an object"; }
  };
  return std::visit(Describe(), tree.value);
}

std::optional<double> as_number(const JsonTree& tree) {
  if (const auto* value = std::get_if<double>(&tree.value)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&tree.value)) {
    return static_cast<double>(*value);
  }
  if (const auto* value = std::get_if<std::uint64_t>(&tree.value)) {
    return static_cast<double>(*value);
  }
  return std::nullopt;
}

// JSON knows no integers: 3.0 and 3e2 are taken for what they are where doubles are exact.
std::optional<std::int64_t> as_integer(const JsonTree& tree) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (const auto* value = std::get_if<std::int64_t>(&tree.value)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&tree.value)) {
    if (*value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(*value);
  }
  if (const auto* value = std::get_if<double>(&tree.value)) {
    if (std::abs(*value) <= kExact && std::trunc(*value) == *value) {
      return static_cast<std::int64_t>(*value);
    }
  }
  return std::nullopt;
}

std::string number_wanted(double low) {
  return std::isinf(low) ? "a number" : fmt::format("a number from {} up", low);
}

}  // namespace

JsonNode::JsonNode(const JsonTree& tree, const std::string& source, std::string path)
    : tree_(&tree), source_(&source), path_(std::move(path)) {}

bool JsonNode::has(std::string_view name) const {
  const auto* object = std::get_if<JsonTree::Object>(&tree_->value);
  return object != nullptr && std::any_of(object->begin(), object->end(),
                                          [&](const auto& member) { return member.first == name; });
}

JsonNode JsonNode::operator[](std::string_view name) const {
  const auto* object = std::get_if<JsonTree::Object>(&tree_->value);
  if (object == nullptr) refuse(fmt::format("an object with the field \"{}\"", name));
  const auto field = std::find_if(object->begin(), object->end(),
                                  [&](const auto& member) { return member.first == name; });
  const std::string path = path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  if (field == object->end()) JsonNode(*tree_, *source_, path).fail("is missing");
  return {field->second, *source_, path};
}

std::size_t JsonNode::size() const {
  return array().size();
}

JsonNode JsonNode::item(std::size_t index) const {
  return {array()[index], *source_, fmt::format("{}[{}]", path_, index)};
}

bool JsonNode::is_null() const {
  return std::holds_alternative<std::nullptr_t>(tree_->value);
}

bool JsonNode::boolean() const {
  const auto* value = std::get_if<bool>(&tree_->value);
  if (value == nullptr) refuse("true or false");
  return *value;
}

double JsonNode::number(double low) const {
  const std::optional<double> value = as_number(*tree_);
  if (!value || *value < low) refuse(number_wanted(low));
  return *value;
}

std::int64_t JsonNode::integer(std::int64_t low, std::int64_t high) const {
  const std::optional<std::int64_t> value = as_integer(*tree_);
  if (!value || *value < low || *value > high) {
    refuse(fmt::format("an integer from {} to {}", low, high));
  }
  return *value;
}

std::uint64_t JsonNode::unsigned_integer() const {
  if (const auto* value = std::get_if<std::uint64_t>(&tree_->value)) return *value;
  const std::optional<std::int64_t> value = as_integer(*tree_);
  if (!value || *value < 0) refuse("an unsigned 64-bit integer");
  return static_cast<std::uint64_t>(*value);
}

std::string JsonNode::string() const {
  const auto* value = std::get_if<std::string>(&tree_->value);
  if (value == nullptr) refuse("a string");
  return *value;
}

std::optional<double> JsonNode::optional_number(double low) const {
  return is_null() ? std::nullopt : std::optional(number(low));
}

std::optional<bool> JsonNode::optional_bool() const {
  return is_null() ? std::nullopt : std::optional(boolean());
}

std::string JsonNode::string_or_empty() const {
  return is_null() ? std::string() : string();
}

std::vector<double> JsonNode::numbers(double low) const {
  std::vector<double> values;
  values.reserve(size());
  for (const JsonTree& element : array()) {
    const std::optional<double> value = as_number(element);
    if (!value || *value < low) item(values.size()).refuse(number_wanted(low));
    values.push_back(*value);
  }
  return values;
}

std::vector<std::string> JsonNode::strings() const {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < size(); ++i) values.push_back(item(i).string());
  return values;
}

const JsonTree::Array& JsonNode::array() const {
  const auto* elements = std::get_if<JsonTree::Array>(&tree_->value);
  if (elements == nullptr) refuse("an array");
  return *elements;
}

void JsonNode::fail(const std::string& problem) const {
  throw Error(ErrorKind::kInput, fmt::format("{}: {}: {}", escaped(*source_),
                                             path_.empty() ? "the file" : path_, problem));
}

void JsonNode::refuse(const std::string& wanted) const {
  fail(fmt::format("found {}, wanted {}", description(*tree_), wanted));
}

}  // namespace nf4bench::json
