#pragma once

#include "record/device_info.hpp"
#include "record/measurement.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::record {

// What is kept of the samples of `measurement`: its digest where it has one, else made from the
// samples, which are positive and finite then.
SampleDigest digest_of(const Measurement& measurement);

// How many samples were taken, whether they were kept or not.
std::int64_t sample_count(const Measurement& measurement);

// The mean of the SM clock over the samples.
std::optional<double> mean_clock_hz(const Measurement& measurement);

// Replaces the samples and their clocks by a digest, from which all that compares or shows medians
// gets the same figures. A sample that is no positive time shows a fault: then all are kept.
void leave_out_samples(Measurement& measurement);

// A sample counts as throttled when its SM clock lies more than this fraction under the highest
// clock of its row. Not of other rows: a clock also depends on what a variant keeps busy. Under
// products of the tensor cores that of an H200 falls by about a tenth at once, and stays there.
inline constexpr double kThrottledBelowHighest = 0.05;

// Fills in throttled_samples of a row that has clocks. No sample is dropped.
void mark_throttled(Measurement& row);

// Throttled samples over all samples; 0 where clocks are not known.
double throttled_share(const Measurement& measurement);

// Two medians that differ by less than this are taken for the same, however narrow their intervals:
// processes that start anew differ by so much.
inline constexpr double kSameAlone = 0.01;

// How much longer a variant takes in company than alone, as a fraction; 0 when it was not measured
// alone.
double cost_of_company(const Measurement& measurement);

// Whether the median in company differs from the one alone by more than kSameAlone, and so much
// that their intervals do not meet. Not if the cycles (median x mean clock, where both clocks are
// known) differ by less: then the clock has changed, as heat and power make it, not the variant.
bool depends_on_company(const Measurement& measurement);

// What follows of rows from the device's rates, too: computed when a row is made, and again by
// whoever doubts it.

// A measured rate or clock may exceed the nominal one by as much as clocks do.
inline constexpr double kPeakTolerance = 1.02;

// The memory's peak binds where buffers rotate that are so many times as large as the last-level
// cache.
inline constexpr int kLargeRotation = 4;

// Fills in bytes_per_s, flops_per_s, fraction_of_copy and roof of a row with a time; what they need
// may be missing, then they are.
void derive_rates(Measurement& row, const Ceilings& ceilings);

// Fills in the speedup of every row of one cell that passed, if the baseline's row did.
void derive_speedups(const std::string& baseline, std::vector<Measurement>& rows);

}  // namespace nf4bench::record
