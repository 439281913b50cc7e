#pragma once

#include "trying/attempt.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::trying {

// How much faster than another variant over all cells: the geometric mean of its ratios, with what
// their intervals leave open.
struct Overall {
  double ratio = 1.0;
  std::optional<statistics::Interval> ci95{};  // none where a cell has none
};

// None unless each cell has such a ratio.
std::optional<Overall> overall(const Attempt& attempt, std::optional<Against> TriedCell::*other);

// A try among others on the same device and cells. What its interval leaves open shows in its
// place: from `best` to `worst`, counted from 1.
struct Ranked {
  const Attempt* attempt = nullptr;
  Overall speedup;  // over the baseline, which each try was timed beside
  std::size_t best = 1;
  std::size_t worst = 1;
};

// Tries that can be compared: the best first, and those that are not ok in the order of `attempts`.
struct Group {
  std::string device;
  std::string cells;  // "dequantize 1024x1024 bfloat16 nested, ..."
  std::vector<Ranked> ranked;
};

// Borrows the attempts. Groups in order of appearance; `failed` gets the tries that were not ok.
std::vector<Group> rank(const std::vector<Attempt>& attempts, std::vector<const Attempt*>& failed);

}  // namespace nf4bench::trying
