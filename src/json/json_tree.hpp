#pragma once

#include "json/json_events.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::json {

// A parsed document. Its values lie in the order of the text, 9 bytes each, because a file may hold
// half a billion. In an object each value has its key before it. Objects have no key twice.
class JsonTree {
 public:
  using Place = std::uint32_t;  // of a value or a key; the document itself is at 0

  // What is there: a scalar, a key with its text, or the beginning of a container. The text is
  // valid as long as the tree.
  JsonEvent at(Place place) const;
  JsonKind kind(Place place) const { return kinds_[place]; }

  // Of the string or key at `place`.
  std::string_view text(Place place) const {
    return std::string_view(text_).substr(high_half(place), low_half(place));
  }

  // Values directly in the container at `container`. The first one, or its key, is right behind it.
  std::size_t size(Place container) const { return low_half(container); }

  // Where the next value, key or end is behind the whole of the value at `value`.
  Place behind(Place value) const;

  // The way that leads to `place`: "measurements[3].time_s"; empty for the document itself.
  std::string path_to(Place place) const;

  // Takes room for the text of strings and keys, which is touched when it is used.
  void expect(std::size_t bytes) { text_.reserve(bytes); }

  // The next step through the document.
  void add(const JsonEvent& event);

 private:
  void push(JsonKind kind, std::uint64_t bits);
  std::uint32_t low_half(Place place) const { return static_cast<std::uint32_t>(bits_[place]); }
  std::uint32_t high_half(Place place) const {
    return static_cast<std::uint32_t>(bits_[place] >> 32);
  }

  // Deques grow without copying. The bits are a number; the length of a text and where it begins;
  // or the values in a container and what is behind it.
  std::deque<JsonKind> kinds_;
  std::deque<std::uint64_t> bits_;
  std::string text_;  // of all strings and keys
  std::vector<Place> open_;
};

// Parses untrusted `text`, less than 4 GiB, in bounded depth. Throws Error(kInput) naming `source`
// when it is not JSON, nested too deeply, has a field twice or a number beyond double.
JsonTree parse_json(std::string_view text, const std::string& source);

}  // namespace nf4bench::json
