#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::json {

enum class JsonKind : std::uint8_t {
  kNull,
  kBoolean,
  kUnsigned,  // an integer without a sign that fits 64 bits
  kNegative,  // an integer with a sign that fits 64 bits, -0 too
  kFloat,     // any other number, 2.0 and 2^64 too
  kString,
  kKey,
  kBeginObject,
  kEndObject,
  kBeginArray,
  kEndArray,
};

// One step through a document.
struct JsonEvent {
  JsonKind kind = JsonKind::kNull;
  int depth = 0;                     // containers open around it: 0 for the document itself
  std::string_view text = {};        // of a string or key; valid during the call
  bool truth = false;                // kBoolean
  std::uint64_t unsigned_value = 0;  // kUnsigned
  std::int64_t signed_value = 0;     // kNegative; -0 is 0 here
  double number = 0;                 // any number
};

using JsonSink = std::function<void(const JsonEvent&)>;

// Why a text is refused.
struct JsonFault {
  enum class Kind : std::uint8_t {
    kByteOrderMark,
    kNul,
    kDepth,      // more levels than the rules allow
    kTwice,      // `key` occurs twice in one object
    kNotFinite,  // NaN or Infinity, as Python writes them
    kTooLarge,   // a number beyond double
    kSyntax,
  };
  Kind kind = Kind::kSyntax;
  std::size_t position = 0;  // the byte, of the last three and of kNul
  std::string key = {};      // of the last three the key before it, if there is one
  std::string detail = {};   // of the last two, in the parser's words
};

// What readers of JSON do not have in common.
struct JsonRules {
  int max_depth = 0;
  std::function<Error(const JsonFault&)> error;  // the fault as the reader words it
};

// Reads `text` as one JSON document, strictly, and hands every step to `sink`. Refused: a byte
// order mark, NUL, bytes that are not UTF-8, too many levels, two equal keys in one object, NaN and
// Infinity, anything after the document. Linear in time and memory; does not recurse.
void read_json(std::string_view text, const JsonRules& rules, const JsonSink& sink);

// The same for files of tensors: at most 127 levels, and an Error(kInput) that starts with `where`.
void read_json(std::string_view where, std::string_view text, const JsonSink& sink);

// What a message says was found: 2.5, "text", null, an array.
std::string describe(const JsonEvent& event);

// The keys of every JSON object that is open, to find two equal ones when it closes.
class KeyLedger {
 public:
  // Takes room for `bytes` of keys, which is touched when it is used.
  void expect(std::size_t bytes) { text_.reserve(bytes); }

  void open_object() { objects_.push_back(keys_.size()); }

  // A key of the innermost open object. Throws std::length_error past 4 GiB of keys.
  void add(std::string_view key);

  // Forgets the innermost object. Returns a key that it held twice, if there is one.
  std::optional<std::string> close_object();

 private:
  // Small, and in a container that grows without copying: a header of 100 MB can hold 20 million
  // keys, and may cost no more than four times its size.
  struct Key {
    std::uint32_t hash;  // known once an object of many keys closes
    std::uint32_t begin;
    std::uint32_t length;
  };
  using Keys = std::deque<Key>;

  std::string_view text_of(const Key& key) const {
    return std::string_view(text_).substr(key.begin, key.length);
  }

  Keys::const_iterator find_twin(Keys::const_iterator first) const;
  Keys::const_iterator sort_and_find_twin(const Keys::iterator& first);

  std::string text_;                  // less than 4 GiB
  Keys keys_;                         // of all open objects, innermost last
  std::vector<std::size_t> objects_;  // where the keys of each open object begin
};

}  // namespace nf4bench::json
