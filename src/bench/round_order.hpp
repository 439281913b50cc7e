#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace nf4bench::bench {

// The order in which contenders take turns. Within `count` rounds each contender takes each place
// once, so that no one gains by always running first; then a new random order begins, so that no
// one gains by always following the same neighbour. The same seed gives the same orders everywhere.
class RoundOrder {
 public:
  RoundOrder(std::size_t count, std::uint64_t seed);

  // Indices 0 to count - 1 in the order of the next round.
  std::vector<std::size_t> next();

 private:
  void shuffle();

  std::vector<std::size_t> base_;
  std::size_t shift_ = 0;
  std::mt19937_64 random_;
};

}  // namespace nf4bench::bench
