#include "json/json_tree.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace nf4bench::json {
namespace {

constexpr std::size_t kMaxDepth = 32;  // a report needs six

// Builds the tree from the parser's events, so that depth and repeated fields are seen at once.
class TreeBuilder {
 public:
  explicit TreeBuilder(const std::string& source) : source_(source) {}

  JsonTree take() { return std::move(root_); }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::kInput, fmt::format("{}: {}", escaped(source_), problem));
  }

  bool null() { return add({nullptr}); }
  bool boolean(bool value) { return add({value}); }
  bool number_integer(std::int64_t value) { return add({value}); }
  bool number_unsigned(std::uint64_t value) { return add({value}); }
  bool number_float(double value, const std::string&) { return add({value}); }
  bool string(std::string& value) { return add({std::move(value)}); }
  bool binary(nlohmann::json::binary_t&) { return false; }

  bool start_object(std::size_t) { return open({JsonTree::Object()}); }
  bool start_array(std::size_t) { return open({JsonTree::Array()}); }
  bool key(std::string& name) {
    std::get<JsonTree::Object>(open_.back()->value).emplace_back(std::move(name), JsonTree());
    return true;
  }
  bool end_object() {
    refuse_repeated_fields(std::get<JsonTree::Object>(open_.back()->value));
    open_.pop_back();
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) {
    const char* what = e.id == 406 ? "a number that is too large" : "no valid JSON";
    fail(fmt::format("{} at byte {}", what, position));
  }

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

  bool add(JsonTree value) {
    place(std::move(value));
    return true;
  }

  // The pointers stay good: a container grows only after those inside it were closed.
  bool open(JsonTree value) {
    if (open_.size() == kMaxDepth) fail(fmt::format("is nested deeper than {} levels", kMaxDepth));
    open_.push_back(place(std::move(value)));
    return true;
  }

  void refuse_repeated_fields(const JsonTree::Object& object) const {
    std::vector<std::string_view> names;
    names.reserve(object.size());
    for (const auto& [name, value] : object) names.push_back(name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) fail(fmt::format("has the field \"{}\" twice", escaped(*twice, 60)));
  }

  const std::string& source_;
  JsonTree root_;
  std::vector<JsonTree*> open_;
};

}  // namespace

JsonTree parse_json(std::string_view text, const std::string& source) {
  TreeBuilder builder(source);
  // nlohmann's parser skips a byte order mark and takes a NUL for the end of the text.
  if (text.starts_with("\xef\xbb\xbf")) builder.fail("starts with a byte order mark, wanted none");
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    builder.fail(fmt::format("has a NUL character at byte {}, wanted none", nul));
  }
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace nf4bench::json
