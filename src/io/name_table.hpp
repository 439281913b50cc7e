#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench {

// Names by number and numbers by name, for millions of names from a file that may be hostile.
// Lookups compare hashes first and names after, in a sorted array: no bucket that could be flooded.
class NameTable {
 public:
  // Appends `name`; its number is size() before the call.
  void add(std::string_view name);

  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t number) const;

  // Prepares find(). Returns the number of a name that was added twice, if there is one.
  std::optional<std::size_t> index();

  // The number of `name`; index() was called after the last add().
  std::optional<std::size_t> find(std::string_view name) const;

 private:
  struct Slot {
    std::uint64_t hash;
    std::size_t number;
  };

  std::string text_;
  std::vector<std::size_t> ends_;  // of each name in text_
  std::vector<Slot> slots_;        // by hash, then name
};

}  // namespace nf4bench
