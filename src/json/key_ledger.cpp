#include "json/key_ledger.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace nf4bench::json {

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
