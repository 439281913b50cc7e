#include "io/name_table.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>

namespace nf4bench::io {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Removes the digits at the start of `text` and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

void NameTable::expect(std::size_t names, std::size_t bytes) {
  reserve_more(ends_, names);
  reserve_more(text_, bytes);
}

void NameTable::add(std::string_view name) {
  text_.append(name);
  ends_.push_back(text_.size());
}

std::string_view NameTable::operator[](std::size_t number) const {
  const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
  return std::string_view(text_).substr(begin, ends_[number] - begin);
}

std::optional<std::size_t> NameTable::index() {
  slots_.clear();
  slots_.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    slots_.push_back({std::hash<std::string_view>{}((*this)[i]), i});
  }
  std::ranges::sort(slots_, [this](const Slot& a, const Slot& b) {
    return a.hash != b.hash ? a.hash < b.hash : (*this)[a.number] < (*this)[b.number];
  });
  index_top_bits();
  const auto twin = std::ranges::adjacent_find(slots_, [this](const Slot& a, const Slot& b) {
    return a.hash == b.hash && (*this)[a.number] == (*this)[b.number];
  });
  if (twin == slots_.end()) return std::nullopt;
  return std::max(twin->number, std::next(twin)->number);
}

void NameTable::index_top_bits() {
  unsigned bits = 1;
  while ((std::size_t{1} << bits) < size()) ++bits;
  shift_ = 64 - bits;
  first_.assign((std::size_t{1} << bits) + 1, 0);
  for (const Slot& slot : slots_) ++first_[static_cast<std::size_t>(slot.hash >> shift_) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

std::optional<std::size_t> NameTable::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t hash = std::hash<std::string_view>{}(name);
  const auto bucket = static_cast<std::size_t>(hash >> shift_);
  const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(first_[bucket]);
  const auto end = slots_.begin() + static_cast<std::ptrdiff_t>(first_[bucket + 1]);
  const auto slot =
      std::lower_bound(begin, end, hash, [this, name](const Slot& a, std::uint64_t wanted) {
        return a.hash != wanted ? a.hash < wanted : (*this)[a.number] < name;
      });
  if (slot == end || slot->hash != hash || (*this)[slot->number] != name) {
    return std::nullopt;
  }
  return slot->number;
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto [end_a, end_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  auto common = static_cast<std::size_t>(end_a - a.begin());
  while (common > 0 && is_digit(a[common - 1])) --common;  // a number is compared as a whole
  std::string_view rest_a = a.substr(common);
  std::string_view rest_b = b.substr(common);
  while (!rest_a.empty() && !rest_b.empty()) {
    if (is_digit(rest_a.front()) && is_digit(rest_b.front())) {
      const std::string_view number_a = take_number(rest_a);
      const std::string_view number_b = take_number(rest_b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (number_a != number_b) return number_a < number_b;
    } else {
      const auto byte_a = static_cast<unsigned char>(rest_a.front());
      const auto byte_b = static_cast<unsigned char>(rest_b.front());
      if (byte_a != byte_b) return byte_a < byte_b;
      rest_a.remove_prefix(1);
      rest_b.remove_prefix(1);
    }
  }
  if (rest_a.empty() != rest_b.empty()) return rest_a.empty();
  return a < b;  // they differ in leading zeros at most
}

}  // namespace nf4bench::io
