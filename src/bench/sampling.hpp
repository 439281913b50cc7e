#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace nf4bench::bench {

// Finds how many launches a sample needs to last at least so long. Used as
//   while (!calibration.is_done()) calibration.add(seconds a call of a sample of launches());
class Calibration {
 public:
  // A cold graph replays the same buffer sets each time, from the first one on, so its launches are
  // a multiple of `buffer_sets`: then every set is met again only after all the others. Elsewhere
  // `buffer_sets` is 1: the rotation goes on from sample to sample, and any count does.
  Calibration(double min_sample_s, int buffer_sets);

  // Takes note of a sample of launches() launches.
  void add(double seconds_per_call);

  int launches() const { return launches_; }
  bool is_done() const { return is_done_; }

 private:
  void grow(double sample_s);

  double min_sample_s_;
  int multiple_;
  int launches_;
  int attempts_ = 0;
  double shortest_s_ = 0.0;  // of the samples with the present launches; 0 before the first
  bool is_done_ = false;
};

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
