#pragma once

#include "record/measurement.hpp"

#include <cstdint>
#include <optional>

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

}  // namespace nf4bench::record
