#include "json/json_tree.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "json/plain_json.hpp"

#include <fmt/format.h>

#include <bit>

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
    return Error(ErrorKind::kInput, fmt::format("{}: {}", escaped(source), wording(fault)));
  };
  JsonTree tree;
  tree.expect(text.size());
  const auto add = [&](const JsonEvent& event) { tree.add(event); };
  if (PlainJson(text, kMaxDepth, add).read()) return tree;
  // The strict reader takes more, and can say what is wrong.
  tree = JsonTree();
  tree.expect(text.size());
  read_json(text, {.max_depth = kMaxDepth, .error = error}, add);
  return tree;
}

}  // namespace nf4bench::json
