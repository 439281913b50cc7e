#pragma once

#include "base/words.hpp"
#include "record/cell.hpp"
#include "record/counters.hpp"
#include "record/verification.hpp"
#include "statistics/statistics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::record {

// What happened on the processors of the host while a cell was timed.
struct HostLoad {
  int processors = 0;   // that the program may run on
  double others = 0.0;  // of them, that other programs kept busy, on average and at least: what the
                        // system's coarse clock may have counted too much is taken off
  double stolen = 0.0;  // share of their time that the host gave to other virtual machines
  double idle_threads = 0.0;  // of them, that threads of peers kept busy that nobody had called, on
                              // average over the samples of the row
  std::string idle_threads_of{};  // the peers whose threads these are, as far as that is known
  std::int64_t involuntary_switches = 0;  // threads of this program lost a processor so often
  bool disturbed = false;                 // see is_disturbed()
};

// Whether others, and idle threads of peers, left fewer than nine tenths of the processors that
// `threads` threads can use: from
// then on threads wait for each other's turn, and times are those of the scheduler.
bool is_disturbed(const HostLoad& load, int threads);

// Who kept the processors busy: "other programs kept 1.2 of 2 processors busy", where `kept` is
// "kept".
std::string busy_words(const HostLoad& load, const char* kept = "kept");

enum class Status : std::uint8_t {
  kPassed,   // verified before and after, and timed
  kFailed,   // wrong output or an error: no time is given
  kSkipped,  // cannot run here; `reason` says why
  kInvalid,  // verified, but the time cannot be true (faster than the memory's peak, ...)
};

constexpr auto words(Status /*any*/) {
  using enum Status;
  return std::to_array<Word<Status>>(
      {{kPassed, "passed"}, {kFailed, "failed"}, {kSkipped, "skipped"}, {kInvalid, "invalid"}});
}

// Why sampling ended.
enum class StopReason : std::uint8_t {
  kPrecision,   // the wanted precision was reached
  kTimeLimit,   // --max-time was used up first
  kInterrupted  // by a signal; the samples so far are kept
};

constexpr auto words(StopReason /*any*/) {
  using enum StopReason;
  return std::to_array<Word<StopReason>>(
      {{kPrecision, "precision"}, {kTimeLimit, "time_limit"}, {kInterrupted, "interrupted"}});
}

// What keeps a call from being faster.
enum class RoofLimit : std::uint8_t { kMemory, kCompute };

constexpr auto words(RoofLimit /*any*/) {
  using enum RoofLimit;
  return std::to_array<Word<RoofLimit>>({{kMemory, "memory"}, {kCompute, "compute"}});
}

// How near a call comes to the shortest time that the device allows: the greater of its bytes over
// the rate of a copy and its flops over the rate of a large matrix product.
struct Roof {
  double fraction = 0.0;  // that time / median
  RoofLimit limit = RoofLimit::kMemory;
};

struct Speedup {
  std::string baseline;                                  // variant name
  double ratio = 1.0;                                    // baseline time / this time
  std::optional<statistics::Interval> ci95{{1.0, 1.0}};  // none with too few rounds
};

// What the routing makes of a stack of experts.
struct ExpertsHit {
  double hit = 0.0;               // experts that any token chose
  std::int64_t fullest_rows = 0;  // that the one has which most chose
};

// The median of a measurement whose variant had a process to itself.
struct Alone {
  double median_s = 0.0;
  std::optional<statistics::Interval> ci95{};  // none with too few samples
  std::optional<double> sm_clock_hz{};         // mean over its samples; absent where unknown
};

// What calls take from the device's own counter of energy, over a batch of them.
struct Energy {
  std::optional<double> joules{};  // a call; absent where it is not known
  double power_w = 0.0;            // mean over the batch
  double seconds = 0.0;            // that the batch took
  std::int64_t calls = 0;
  double error = 0.0;         // relative standard error that the ends of the batch leave open
  std::string unavailable{};  // why nothing is known; empty when it is
};

// What is kept of samples that a report leaves out.
struct SampleDigest {
  std::int64_t count = 0;
  double log_error = 0.0;                 // see statistics::log_median_error()
  std::optional<double> mean_clock_hz{};  // of the multiprocessors; absent where unknown
  std::optional<double> median_clock_hz{};
};

// One variant in one cell. Plain data.
struct Measurement {
  Cell cell;
  std::string variant;
  bool reference_line = false;  // not a variant of the operation: it reads something else than the
                                // NF4 weight, and is not ranked
  Status status = Status::kSkipped;
  std::string reason;                         // empty when passed
  std::optional<Verification> verification;   // absent when nothing could be compared
  std::optional<statistics::Summary> time_s;  // absent unless timed
  std::vector<double> samples_s;              // seconds a call, in the order taken
  std::vector<double> sm_clock_hz;            // per sample; empty where unknown
  std::optional<SampleDigest> digest;         // in place of samples_s and sm_clock_hz
  int launches_per_sample = 0;
  std::optional<StopReason> stopped_by;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  double flops = 0.0;                        // of a call; 0 where nothing is multiplied and added
  std::optional<ExpertsHit> experts{};       // absent unless rows choose among matrices
  std::optional<double> bytes_per_s;         // (read + written) / median
  std::optional<double> flops_per_s;         // flops / median; absent without flops
  std::optional<Roof> roof;                  // absent unless both rates are known
  std::optional<double> fraction_of_copy;    // bytes_per_s / copy ceiling of the run
  std::optional<double> fraction_of_stream;  // best stream kernel's median of this cell / median
  std::optional<Speedup> speedup;            // absent unless both sides passed
  std::optional<std::int64_t> throttled_samples;  // absent without clocks
  std::optional<Alone> alone;                     // absent unless asked for
  std::optional<Energy> energy;                   // absent unless asked for
  std::optional<Counters> counters{};             // absent unless asked for
  std::optional<HostLoad> load;                   // while the cell was timed; absent where unknown
};

// The best kernel that only moves the bytes of a geometry, in one cell.
struct StreamCeiling {
  Cell cell;
  std::string shape;  // name of the access shape that was fastest
  double median_s = 0.0;
  double bytes_per_s = 0.0;
};

}  // namespace nf4bench::record
