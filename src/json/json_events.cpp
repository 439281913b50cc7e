#include "json/json_events.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace nf4bench::json {
namespace {

constexpr int kMaxTensorDepth = 127;  // what serde_json takes, and with it the reference reader

constexpr int kNumberOverflow = 406;  // nlohmann's number for this error

// What nlohmann's parser says, without the identifier and the position that it puts before it.
std::string_view detail_of(std::string_view message) {
  if (const std::size_t end = message.find("] "); end != std::string_view::npos) {
    message.remove_prefix(end + 2);
  }
  if (message.starts_with("parse error")) message.remove_prefix(message.find(": ") + 2);
  return message;
}

// True when the parser stopped at one of the words that Python writes for floats JSON cannot hold.
bool stopped_at_python_float(std::string_view text, std::size_t position) {
  const std::size_t begin = position == 0 ? 0 : position - 1;
  if (begin > text.size()) return false;
  return text.substr(begin).starts_with("NaN") || text.substr(begin).starts_with("Infinity");
}

// The interface that nlohmann's SAX parser calls; the names are its own.
class Adapter {
 public:
  Adapter(std::string_view text, const JsonRules& rules, const JsonSink& sink)
      : text_(text), rules_(rules), sink_(sink) {
    keys_.expect(text.size());
  }

  bool null() { return pass({.kind = JsonKind::kNull}); }
  bool boolean(bool value) { return pass({.kind = JsonKind::kBoolean, .truth = value}); }
  bool number_integer(std::int64_t value) {
    // -0 loses its sign as an integer, and a sign matters to whoever reads a float.
    return pass({.kind = JsonKind::kNegative,
                 .signed_value = value,
                 .number = value == 0 ? -0.0 : static_cast<double>(value)});
  }
  bool number_unsigned(std::uint64_t value) {
    return pass({.kind = JsonKind::kUnsigned,
                 .unsigned_value = value,
                 .number = static_cast<double>(value)});
  }
  bool number_float(double value, const std::string& digits) {
    return pass({.kind = JsonKind::kFloat, .text = digits, .number = value});
  }
  bool string(const std::string& value) { return pass({.kind = JsonKind::kString, .text = value}); }
  bool binary(const nlohmann::json::binary_t& /*value*/) { return false; }  // never in a text

  bool start_object(std::size_t /*elements*/) {
    keys_.open_object();
    return enter(JsonKind::kBeginObject);
  }
  bool start_array(std::size_t /*elements*/) { return enter(JsonKind::kBeginArray); }
  bool key(const std::string& value) {
    last_key_ = value;
    keys_.add(value);
    return pass({.kind = JsonKind::kKey, .text = value});
  }
  bool end_object() {
    if (const auto duplicate = keys_.close_object()) {
      throw rules_.error({.kind = JsonFault::Kind::kTwice, .key = *duplicate});
    }
    return leave(JsonKind::kEndObject);
  }
  bool end_array() { return leave(JsonKind::kEndArray); }

  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::json::exception& error) {
    using Kind = JsonFault::Kind;
    const Kind kind = stopped_at_python_float(text_, position) ? Kind::kNotFinite
                      : error.id == kNumberOverflow            ? Kind::kTooLarge
                                                               : Kind::kSyntax;
    throw rules_.error({.kind = kind,
                        .position = position,
                        .key = last_key_,
                        .detail = std::string(detail_of(error.what()))});
  }

 private:
  bool pass(JsonEvent event) {
    event.depth = depth_;
    sink_(event);
    return true;
  }
  bool enter(JsonKind kind) {
    if (depth_ >= rules_.max_depth) throw rules_.error({.kind = JsonFault::Kind::kDepth});
    pass({.kind = kind});
    ++depth_;
    return true;
  }
  bool leave(JsonKind kind) {
    --depth_;
    return pass({.kind = kind});
  }

  std::string_view text_;
  const JsonRules& rules_;
  const JsonSink& sink_;
  KeyLedger keys_;
  std::string last_key_;
  int depth_ = 0;
};

// A fault as the readers of tensors word it.
Error tensor_file_error(std::string_view where, const JsonFault& fault) {
  const auto near = [&] {
    return fault.key.empty() ? "" : fmt::format(" after the key {}", in_quotes(fault.key));
  };
  switch (fault.kind) {
    case JsonFault::Kind::kByteOrderMark:
      return input_error(where, "JSON text", "a byte order mark", "none");
    case JsonFault::Kind::kNul:
      return input_error(where, "JSON text",
                         fmt::format("a NUL character at byte {}", fault.position), "none");
    case JsonFault::Kind::kDepth:
      return input_error(where, "JSON nesting", fmt::format("more than {} levels", kMaxTensorDepth),
                         fmt::format("at most {}", kMaxTensorDepth));
    case JsonFault::Kind::kTwice:
      return input_error(
          where, fmt::format("the key {} occurs twice in one object", in_quotes(fault.key)));
    case JsonFault::Kind::kNotFinite:
      return input_error(where, fmt::format("byte {}{}: found NaN or Infinity, wanted a finite "
                                            "number (JSON has no others)",
                                            fault.position, near()));
    case JsonFault::Kind::kTooLarge:
    case JsonFault::Kind::kSyntax:
      break;
  }
  return input_error(where, fmt::format("not valid JSON at byte {}{}: {}", fault.position, near(),
                                        escaped(fault.detail)));
}

}  // namespace

void read_json(std::string_view text, const JsonRules& rules, const JsonSink& sink) {
  // nlohmann's parser skips a byte order mark and takes a NUL for the end of the text.
  if (text.starts_with("\xef\xbb\xbf")) {
    throw rules.error({.kind = JsonFault::Kind::kByteOrderMark});
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw rules.error({.kind = JsonFault::Kind::kNul, .position = nul});
  }
  Adapter adapter(text, rules, sink);
  nlohmann::json::sax_parse(text.begin(), text.end(), &adapter);
}

void read_json(std::string_view where, std::string_view text, const JsonSink& sink) {
  const auto error = [&](const JsonFault& fault) { return tensor_file_error(where, fault); };
  read_json(text, {.max_depth = kMaxTensorDepth, .error = error}, sink);
}

std::string describe(const JsonEvent& event) {
  switch (event.kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBoolean:
      return "a boolean";
    case JsonKind::kUnsigned:
      return fmt::format("{}", event.unsigned_value);
    case JsonKind::kNegative:
      return fmt::format("{}", event.number);
    case JsonKind::kFloat:
      return escaped(event.text, 40);
    case JsonKind::kString:
    case JsonKind::kKey:
      return fmt::format("\"{}\"", escaped(event.text, 80));
    case JsonKind::kBeginObject:
    case JsonKind::kEndObject:
      return "an object";
    case JsonKind::kBeginArray:
    case JsonKind::kEndArray:
      return "an array";
  }
  return "nothing";
}

void KeyLedger::add(std::string_view key) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (key.size() > kMost - text_.size()) throw std::length_error("more than 4 GiB of keys");
  keys_.push_back(
      {0, static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(key.size())});
  text_.append(key);
}

// One of the keys from `first` on that equals another, comparing all pairs; the end if there is
// none.
KeyLedger::Keys::const_iterator KeyLedger::find_twin(Keys::const_iterator first) const {
  for (; first != keys_.end(); ++first) {
    const auto is_equal = [&](const Key& other) { return text_of(other) == text_of(*first); };
    if (std::any_of(std::next(first), keys_.end(), is_equal)) break;
  }
  return first;
}

// The same for many keys. Hash first: texts are compared between equal hashes only, and if all are
// equal it still takes no more than n log n comparisons.
KeyLedger::Keys::const_iterator KeyLedger::sort_and_find_twin(const Keys::iterator& first) {
  for (auto key = first; key != keys_.end(); ++key) {
    key->hash = static_cast<std::uint32_t>(std::hash<std::string_view>{}(text_of(*key)));
  }
  std::sort(first, keys_.end(), [this](const Key& a, const Key& b) {
    return a.hash != b.hash ? a.hash < b.hash : text_of(a) < text_of(b);
  });
  return std::adjacent_find(first, keys_.end(), [this](const Key& a, const Key& b) {
    return a.hash == b.hash && text_of(a) == text_of(b);
  });
}

std::optional<std::string> KeyLedger::close_object() {
  constexpr std::ptrdiff_t kFew = 8;  // the objects of a header and a quant state are so small
  const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(objects_.back());
  objects_.pop_back();
  if (first == keys_.end()) return std::nullopt;
  const std::size_t text_begin = first->begin;
  const auto twin = keys_.end() - first <= kFew ? find_twin(first) : sort_and_find_twin(first);
  std::optional<std::string> duplicate;
  if (twin != keys_.end()) duplicate = std::string(text_of(*twin));
  keys_.erase(first, keys_.end());
  text_.resize(text_begin);
  return duplicate;
}

}  // namespace nf4bench::json
