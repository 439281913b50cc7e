#include "bench/round_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace nf4bench::bench {

RoundOrder::RoundOrder(std::size_t count, std::uint64_t seed) : base_(count), random_(seed) {
  std::iota(base_.begin(), base_.end(), std::size_t{0});
}

std::vector<std::size_t> RoundOrder::next() {
  if (shift_ == 0) shuffle();
  std::vector<std::size_t> order = base_;
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shift_), order.end());
  shift_ = shift_ + 1 < base_.size() ? shift_ + 1 : 0;
  return order;
}

// Fisher-Yates by hand: std::shuffle and the standard distributions differ between libraries.
void RoundOrder::shuffle() {
  for (std::size_t left = base_.size(); left > 1; --left) {
    std::swap(base_[left - 1], base_[static_cast<std::size_t>(random_() % left)]);
  }
}

}  // namespace nf4bench::bench
