#include "io/key_ledger.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

namespace nf4bench {

void KeyLedger::add(std::string_view key) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (key.size() > kMost - text_.size()) throw std::length_error("more than 4 GiB of keys");
  const std::size_t hash = std::hash<std::string_view>{}(key);
  keys_.push_back({static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(text_.size()),
                   static_cast<std::uint32_t>(key.size())});
  text_.append(key);
}

std::optional<std::string> KeyLedger::close_object() {
  const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(objects_.back());
  objects_.pop_back();
  if (first == keys_.end()) return std::nullopt;
  const std::size_t text_begin = first->begin;
  // Hash first: comparing texts happens between equal hashes only, so many keys cost n log n.
  std::sort(first, keys_.end(), [this](const Key& a, const Key& b) {
    return a.hash != b.hash ? a.hash < b.hash : text_of(a) < text_of(b);
  });
  const auto twin = std::adjacent_find(first, keys_.end(), [this](const Key& a, const Key& b) {
    return a.hash == b.hash && text_of(a) == text_of(b);
  });
  std::optional<std::string> duplicate;
  if (twin != keys_.end()) duplicate = std::string(text_of(*twin));
  keys_.erase(first, keys_.end());
  text_.resize(text_begin);
  return duplicate;
}

}  // namespace nf4bench
