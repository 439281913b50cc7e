#pragma once

#include "compare/change.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace nf4bench::compare {

enum class CellVerdict : std::uint8_t {
  kInvalid,  // the new side holds a failed or impossible measurement
  kMissing,  // the new side does not measure what the old one does
  kSlower,
  kUnsure,  // no verdict can be given: noise, clocks, or an old side without a valid time
  kFaster,
  kSame,
};

// The most urgent first.
inline constexpr CellVerdict kCellVerdicts[] = {CellVerdict::kInvalid, CellVerdict::kMissing,
                                                CellVerdict::kSlower,  CellVerdict::kUnsure,
                                                CellVerdict::kFaster,  CellVerdict::kSame};

// "SLOWER"
const char* to_string(CellVerdict verdict);

// A verdict and, unless the numbers speak for themselves, why.
struct Ruling {
  CellVerdict verdict = CellVerdict::kUnsure;
  std::string reason;
};

// Changes up to `threshold` (relative) are not worth a verdict.
struct RulingLimits {
  double threshold = 0.02;
  bool heeds_clocks = true;  // false for ratios within a run, from which clocks cancel
};

// Rules on a cell that both sides measured.
Ruling rule_on_change(const Change& change, std::span<const RunValue> base,
                      std::span<const RunValue> fresh, const RulingLimits& limits);

}  // namespace nf4bench::compare
