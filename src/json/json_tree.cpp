#include "json/json_tree.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "json/json_events.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace nf4bench::json {
namespace {

constexpr int kMaxDepth = 32;  // a report needs six

JsonTree leaf_of(const JsonEvent& event) {
  switch (event.kind) {
    case JsonKind::kBoolean:
      return {event.truth};
    case JsonKind::kUnsigned:
      return {event.unsigned_value};
    case JsonKind::kNegative:
      return {event.signed_value};
    case JsonKind::kFloat:
      return {event.number};
    case JsonKind::kString:
      return {std::string(event.text)};
    default:
      return {nullptr};
  }
}

class TreeBuilder {
 public:
  void operator()(const JsonEvent& event) {
    switch (event.kind) {
      case JsonKind::kKey:
        std::get<JsonTree::Object>(open_.back()->value).emplace_back(event.text, JsonTree());
        break;
      // The pointers stay good: a container grows only after those inside it were closed.
      case JsonKind::kBeginObject:
        open_.push_back(place({JsonTree::Object()}));
        break;
      case JsonKind::kBeginArray:
        open_.push_back(place({JsonTree::Array()}));
        break;
      case JsonKind::kEndObject:
      case JsonKind::kEndArray:
        open_.pop_back();
        break;
      default:
        place(leaf_of(event));
    }
  }

  JsonTree take() { return std::move(root_); }

 private:
  // Where the next value goes.
  JsonTree* place(JsonTree value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    auto& parent = open_.back()->value;
    if (auto* array = std::get_if<JsonTree::Array>(&parent)) {
      return &array->emplace_back(std::move(value));
    }
    JsonTree& member = std::get<JsonTree::Object>(parent).back().second;
    member = std::move(value);
    return &member;
  }

  JsonTree root_;
  std::vector<JsonTree*> open_;
};

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

JsonTree parse_json(std::string_view text, const std::string& source) {
  const auto error = [&](const JsonFault& fault) {
    return Error(ErrorKind::kInput, fmt::format("{}: {}", escaped(source), wording(fault)));
  };
  TreeBuilder builder;
  read_json(text, {.max_depth = kMaxDepth, .error = error}, std::ref(builder));
  return builder.take();
}

}  // namespace nf4bench::json
