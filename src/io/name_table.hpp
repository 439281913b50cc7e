#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// Makes room for `count` more elements. Grows at least as push_back() does, so that many small
// calls do not copy again and again.
template <typename Container>
void reserve_more(Container& container, std::size_t count) {
  const std::size_t wanted = container.size() + count;
  if (wanted > container.capacity()) {
    container.reserve(std::max(wanted, 2 * container.capacity()));
  }
}

// Names by number and numbers by name, for millions of names from a file that may be hostile.
// Lookups search a sorted array by hash and then by name, so names that were chosen to collide make
// them slower by a logarithm only.
class NameTable {
 public:
  // Makes room for `names` more names with `bytes` bytes together.
  void expect(std::size_t names, std::size_t bytes);

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

  void index_top_bits();

  std::string text_;
  std::vector<std::size_t> ends_;   // of each name in text_
  std::vector<Slot> slots_;         // by hash, then name
  std::vector<std::size_t> first_;  // first slot whose hash has top bits >= the index
  unsigned shift_ = 64;             // how far a hash is shifted to leave its top bits
};

// True when `a` comes before `b` as a person would sort them: runs of digits compare as numbers, so
// that layers.2 comes before layers.10. A total order: of two different names one comes first.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace nf4bench::io
