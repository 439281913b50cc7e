#include "bench/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace nf4bench::bench {
namespace {

constexpr int kMaxLaunches = 1 << 14;  // nodes of a graph
constexpr int kMaxAttempts = 16;
constexpr double kMargin = 1.2;  // aims beyond the wanted duration: clocks may still rise
constexpr double kMaxGrowth = 16.0;

// A sample so much longer than wanted is not asked for again.
constexpr double kAmple = 100.0;

int rounded_up(double launches, int multiple) {
  const double groups = std::ceil(launches / multiple);
  const double limit = std::max(1, kMaxLaunches / multiple);
  return static_cast<int>(std::min(groups, limit)) * multiple;
}

}  // namespace

Calibration::Calibration(double min_sample_s, int buffer_sets)
    : min_sample_s_(min_sample_s),
      multiple_(std::clamp(buffer_sets, 1, kMaxLaunches)),
      launches_(multiple_) {}

// The shorter of two samples decides, so that a hiccup in one of them does not end the search.
void Calibration::add(double seconds_per_call) {
  const double sample_s = seconds_per_call * launches_;
  const bool is_first = shortest_s_ == 0.0;
  shortest_s_ = is_first ? sample_s : std::min(shortest_s_, sample_s);
  if (shortest_s_ < min_sample_s_) {
    grow(shortest_s_);
  } else if (!is_first || sample_s >= kAmple * min_sample_s_) {
    is_done_ = true;
  }
}

void Calibration::grow(double sample_s) {
  const double factor = std::min(kMargin * min_sample_s_ / sample_s, kMaxGrowth);
  const int wanted = rounded_up(std::max(launches_ * factor, launches_ + 1.0), multiple_);
  is_done_ = wanted == launches_ || ++attempts_ >= kMaxAttempts;
  launches_ = wanted;
  shortest_s_ = 0.0;
}

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
