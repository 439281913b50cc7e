#pragma once

// What limits a kernel, told from what was counted while it ran.

#include "record/counters.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace nf4bench::record {

// What is known of the call that was counted.
struct CountedCall {
  std::int64_t bytes_read = 0;     // that it needs
  std::int64_t elements = 0;       // of the weight
  std::optional<double> time_s{};  // its median, as it was timed without a profiler
};

struct Judgement {
  Limit limit = Limit::kUnknown;
  std::string text;  // one sentence
};

// A unit that is so busy limits a kernel: the rules of Nsight Compute call for less work there from
// 80 % on, and speak of latency where nothing reaches 60 %.
inline constexpr double kBusy = 0.8;
inline constexpr double kHalfBusy = 0.6;

// Units this near to the busiest are named, too: without it they would be next. Again a rule of
// Nsight Compute.
inline constexpr double kNextBusy = 0.1;

// A kernel takes a microsecond or two if it does nothing: of a shorter one than this, half is that.
inline constexpr double kShortKernelS = 4e-6;

// A call of which the kernels take less than this share is mostly launching. A profiler's clocks
// are not those of the timing, but never so far from them.
inline constexpr double kKernelsShareOfCall = 0.5;

// So many conflicts of all wavefronts: without them shared memory would serve a third more.
inline constexpr double kManyConflicts = 0.25;

// A reason that takes so much of the time between two instructions stands out.
inline constexpr double kLongStall = 1.0 / 3.0;

Judgement limit_of(const Counters& counters, const CountedCall& call);

}  // namespace nf4bench::record
