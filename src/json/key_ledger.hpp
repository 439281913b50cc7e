#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::json {

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
