#pragma once

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

}  // namespace nf4bench::bench
