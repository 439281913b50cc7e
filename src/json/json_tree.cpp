#include "json/json_tree.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

namespace nf4bench::json {
namespace {

constexpr int kMaxDepth = 32;  // a report needs six

// A scalar that is no text, as the tree holds it.
std::uint64_t bits_of(const JsonEvent& event) {
  switch (event.kind) {
    case JsonKind::kBoolean:
      return event.truth ? 1 : 0;
    case JsonKind::kUnsigned:
      return event.unsigned_value;
    case JsonKind::kNegative:
      return static_cast<std::uint64_t>(event.signed_value);
    case JsonKind::kFloat:
      return std::bit_cast<std::uint64_t>(event.number);
    default:
      return 0;
  }
}

std::string wording(const JsonFault& fault) {
  switch (fault.kind) {
    case JsonFault::Kind::kByteOrderMark:
      return "starts with a byte order mark, wanted none";
    case JsonFault::Kind::kNul:
      return fmt::format("has a NUL character at byte {}, wanted none", fault.position);
    case JsonFault::Kind::kDepth:
      return fmt::format("is nested deeper than {} levels", kMaxDepth);
    case JsonFault::Kind::kTwice:
      return fmt::format("has the field \"{}\" twice", escaped(fault.key, 60));
    case JsonFault::Kind::kTooLarge:
      return fmt::format("a number that is too large at byte {}", fault.position);
    case JsonFault::Kind::kNotFinite:
    case JsonFault::Kind::kSyntax:
      break;
  }
  return fmt::format("no valid JSON at byte {}", fault.position);
}

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

JsonEvent JsonTree::at(Place place) const {
  const std::uint64_t bits = bits_[place];
  JsonEvent event = {.kind = kinds_[place]};
  switch (event.kind) {
    case JsonKind::kBoolean:
      event.truth = bits != 0;
      break;
    case JsonKind::kUnsigned:
      event.unsigned_value = bits;
      event.number = static_cast<double>(bits);
      break;
    case JsonKind::kNegative:
      event.signed_value = static_cast<std::int64_t>(bits);
      event.number = static_cast<double>(event.signed_value);
      break;
    case JsonKind::kFloat:
      event.number = std::bit_cast<double>(bits);
      break;
    case JsonKind::kString:
    case JsonKind::kKey:
      event.text = text(place);
      break;
    default:
      break;
  }
  return event;
}

JsonTree::Place JsonTree::behind(Place value) const {
  const JsonKind kind = kinds_[value];
  const bool is_container = kind == JsonKind::kBeginObject || kind == JsonKind::kBeginArray;
  return is_container ? high_half(value) : value + 1;
}

std::string JsonTree::path_to(Place place) const {
  std::string path;
  for (Place container = 0; container != place;) {
    const bool is_object = kinds_[container] == JsonKind::kBeginObject;
    Place value = container + (is_object ? 2 : 1);
    std::size_t index = 0;
    for (; behind(value) <= place; ++index) value = behind(value) + (is_object ? 1 : 0);
    path += is_object ? fmt::format("{}{}", path.empty() ? "" : ".", text(value - 1))
                      : fmt::format("[{}]", index);
    container = value;
  }
  return path;
}

void JsonTree::push(JsonKind kind, std::uint64_t bits) {
  kinds_.push_back(kind);
  bits_.push_back(bits);
}

void JsonTree::add(const JsonEvent& event) {
  const bool is_end = event.kind == JsonKind::kEndObject || event.kind == JsonKind::kEndArray;
  if (!is_end && event.kind != JsonKind::kKey && !open_.empty()) ++bits_[open_.back()];
  switch (event.kind) {
    case JsonKind::kBeginObject:
    case JsonKind::kBeginArray:
      open_.push_back(static_cast<Place>(kinds_.size()));
      push(event.kind, 0);
      break;
    case JsonKind::kEndObject:
    case JsonKind::kEndArray:
      bits_[open_.back()] |= std::uint64_t{kinds_.size()} << 32;
      open_.pop_back();
      break;
    case JsonKind::kKey:
    case JsonKind::kString:
      push(event.kind, event.text.size() | std::uint64_t{text_.size()} << 32);
      text_ += event.text;
      break;
    default:
      push(event.kind, bits_of(event));
  }
}

JsonTree parse_json(std::string_view text, const std::string& source) {
  const auto error = [&](const JsonFault& fault) {
    return Error(ErrorKind::kInput, "{}: {}", escaped(source), wording(fault));
  };
  JsonTree tree;
  tree.expect(text.size());
  const auto add = [&](const JsonEvent& event) { tree.add(event); };
  read_json(text, {.max_depth = kMaxDepth, .error = error}, add);
  return tree;
}

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

std::string JsonNode::string_or_empty() const {
  return is_null() ? std::string() : string();
}

std::vector<double> JsonNode::numbers(double low) const {
  std::vector<double> values;
  if (is(JsonKind::kBeginArray)) values.reserve(tree_->size(place_));
  each([&](const JsonNode& node) { values.push_back(node.number(low)); });
  return values;
}

void JsonNode::fail(const std::string& problem) const {
  const std::string path = tree_->path_to(place_);
  fail_at(path.empty() ? "the file" : path, problem);
}

void JsonNode::fail_at(const std::string& path, const std::string& problem) const {
  throw Error(ErrorKind::kInput, "{}: {}: {}", escaped(*source_), path, problem);
}

void JsonNode::refuse(const std::string& wanted) const {
  fail(fmt::format("found {}, wanted {}", description(value()), wanted));
}

}  // namespace nf4bench::json
