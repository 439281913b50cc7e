#pragma once

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
  std::uint64_t unsigned_value = 0;  // kUnsigned
  double number = 0;                 // any number
};

using JsonSink = std::function<void(const JsonEvent&)>;

// Reads `text` as one JSON document, strictly, and hands every step to `sink`. Refused, with an
// Error(kInput) that starts with `where`: a byte order mark, NUL, bytes that are not UTF-8, more
// than 127 levels, two equal keys in one object, NaN and Infinity, anything after the document.
// Linear in time and memory; does not recurse.
void read_json(std::string_view where, std::string_view text, const JsonSink& sink);

// What a message says was found: 2.5, "text", null, an array.
std::string describe(const JsonEvent& event);

}  // namespace nf4bench::json
