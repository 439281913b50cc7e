#include "io/writers/model_config.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace nf4bench::io {
namespace {

// The bytes from `begin` to `end` become `text`.
struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text = {};
};

// Finds what has to change in a config. It reads JSON only as far as that takes: a parser and a
// writer would change the spelling of numbers.
class ConfigWalk {
 public:
  ConfigWalk(const std::string& where, std::string_view text, const ConfigTypes& types)
      : where_(where), text_(text), types_(types) {}

  std::vector<Edit> edits() {
    skip_blanks();
    if (next() != '{') fail();
    skip_object(0);
    skip_blanks();
    if (at_ != text_.size()) fail();
    return edits_;
  }

 private:
  static constexpr int kMaxDepth = 127;

  [[noreturn]] void fail() const {
    throw input_error(where_, fmt::format("is not a JSON object: byte {}", at_));
  }

  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  void skip(char wanted) {
    skip_blanks();
    if (next() != wanted) fail();
    ++at_;
  }

  // Returns what stands between the quotes, as it is spelled.
  std::string_view skip_string() {
    skip('"');
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) fail();
    return text_.substr(begin, at_++ - begin);
  }

  void skip_value(int depth) {
    skip_blanks();
    if (depth > kMaxDepth) fail();
    if (next() == '{') return skip_object(depth);
    if (next() == '[') return skip_array(depth);
    if (next() == '"') return static_cast<void>(skip_string());
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    if (at_ == begin) fail();
  }

  void skip_array(int depth) {
    skip('[');
    skip_blanks();
    if (next() != ']') {
      skip_value(depth + 1);
      for (skip_blanks(); next() == ','; skip_blanks()) {
        ++at_;
        skip_value(depth + 1);
      }
    }
    skip(']');
  }

  void skip_object(int depth) {
    skip('{');
    std::optional<std::size_t> comma;  // behind the last member that stays
    for (std::size_t begin = at_; skip_blanks(), next() != '}'; begin = at_) {
      const bool stays = skip_member(depth);
      const std::size_t end = at_;
      skip_blanks();
      const bool is_last = next() != ',';
      if (!is_last) ++at_;
      if (!stays) edits_.push_back(is_last ? Edit{comma.value_or(begin), end} : Edit{begin, at_});
      if (stays && !is_last) comma = at_ - 1;
      if (is_last) break;
    }
    skip('}');
  }

  // Returns whether the member stays.
  bool skip_member(int depth) {
    const std::string_view key = skip_string();
    skip(':');
    skip_blanks();
    const std::size_t begin = at_;
    skip_value(depth + 1);
    if (key == "torch_dtype" || key == "dtype") name_type(begin);
    return key != "quantization_config";
  }

  // Of the value from `begin` on, which is a string or null.
  void name_type(std::size_t begin) {
    const std::string_view value = text_.substr(begin, at_ - begin);
    if (!value.starts_with('"')) return;
    const bool is_possible =
        value == "\"float16\"" || value == "\"bfloat16\"" || value == "\"float32\"";
    const std::string& type =
        types_.wanted.empty() && !is_possible ? types_.decoded : types_.wanted;
    if (!type.empty()) edits_.push_back({begin, at_, fmt::format("\"{}\"", type)});
  }

  const std::string& where_;
  std::string_view text_;
  const ConfigTypes& types_;
  std::size_t at_ = 0;
  std::vector<Edit> edits_;
};

}  // namespace

std::string decoded_config(const std::string& where, std::string_view text,
                           const ConfigTypes& types) {
  std::vector<Edit> edits = ConfigWalk(where, text, types).edits();
  std::ranges::stable_sort(edits, {}, &Edit::begin);
  std::string result;
  std::size_t done = 0;
  for (const Edit& edit : edits) {
    if (edit.begin >= done) {
      result.append(text.substr(done, edit.begin - done)).append(edit.text);
    }
    done = std::max(done, edit.end);
  }
  return result.append(text.substr(done));
}

}  // namespace nf4bench::io
