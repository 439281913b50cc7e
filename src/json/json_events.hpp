#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

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

}  // namespace nf4bench::json
