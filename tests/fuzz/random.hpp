#pragma once

#include <cstddef>
#include <random>
#include <span>

namespace nf4bench::fuzz {

// The random choices of the mutators, from libFuzzer's seed.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  // A number below `limit`, which is not zero.
  std::size_t below(std::size_t limit) { return engine_() % limit; }

  bool one_in(std::size_t chances) { return below(chances) == 0; }

  template <typename T>
  const T& pick(std::span<const T> values) {
    return values[below(values.size())];
  }

 private:
  std::minstd_rand engine_;
};

}  // namespace nf4bench::fuzz
