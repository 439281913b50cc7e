#pragma once

#include "base/words.hpp"
#include "compare/run_cells.hpp"
#include "record/device_info.hpp"
#include "statistics/statistics.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace nf4bench::compare {

// Whose runs are compared.
enum class Spread : std::uint8_t {
  kOneDevice,
  kSeveralDevices,  // of one model, or more different still
};

// How much the median of an unchanged cell differs from run to run: its relative standard
// deviation, and where that number comes from.
struct RunNoise {
  double relative = 0.0;
  std::string origin;
};

// What was measured, see docs/method.md.
RunNoise measured_noise(record::DeviceKind kind, Spread spread);

// A change smaller than this many times the run-to-run noise is not worth a verdict. Two single
// runs of the same code differ by more in less than 0.5 % of all cases.
inline constexpr double kThresholdInNoise = 4.0;

// What an interval rests on besides the runs themselves.
struct ChangeModel {
  double run_noise = 0.005;  // relative standard deviation of a median from run to run, at least
  int cells = 1;             // intervals that are to hold all at once
};

// How much a cell changed. Logarithms: 0.02 is 2 % slower, near enough.
struct Change {
  double log_ratio = 0.0;   // cost of the new side over that of the old; above 0 is slower
  double half_width = 0.0;  // of its interval
  bool runs_agree = true;   // false when runs of one side differ more than run_noise explains
};

// All intervals of a comparison hold their true changes at once, but for this chance.
inline constexpr double kFamilyError = 0.01;

// Compares runs, not samples: a side is the mean over its runs, each of which deviates by run_noise
// and by what its samples leave open. Where runs of a side contradict run_noise, their own scatter
// takes its place. Each side has at least one run.
Change estimate_change(std::span<const RunValue> base, std::span<const RunValue> fresh,
                       const ChangeModel& model);

// The change as a ratio of costs, and its interval.
statistics::Interval ratio_interval(const Change& change);

enum class CellVerdict : std::uint8_t {
  kInvalid,  // the new side holds a failed or impossible measurement
  kMissing,  // the new side does not measure what the old one does
  kSlower,
  kUnsure,  // no verdict can be given: noise, clocks, or an old side without a valid time
  kFaster,
  kSame,
};

// The most urgent first.
constexpr auto words(CellVerdict /*any*/) {
  using enum CellVerdict;
  return std::to_array<Word<CellVerdict>>({{kInvalid, "INVALID"},
                                           {kMissing, "MISSING"},
                                           {kSlower, "SLOWER"},
                                           {kUnsure, "UNSURE"},
                                           {kFaster, "FASTER"},
                                           {kSame, "SAME"}});
}

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
