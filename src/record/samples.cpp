#include "record/samples.hpp"

#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

namespace nf4bench::record {
namespace {

bool has_valid_samples(const Measurement& measurement) {
  const std::vector<double>& samples = measurement.samples_s;
  return !samples.empty() && std::ranges::all_of(samples, [](double sample) {
    return std::isfinite(sample) && sample > 0.0;
  });
}

// cost_of_company() in cycles of the multiprocessors; nothing unless both clocks are known.
std::optional<double> cost_in_cycles(const Measurement& measurement) {
  const std::optional<double> company = mean_clock_hz(measurement);
  const std::optional<double>& alone = measurement.alone->sm_clock_hz;
  if (!company || !alone || *alone <= 0.0) return std::nullopt;
  return (1.0 + cost_of_company(measurement)) * (*company / *alone) - 1.0;
}

}  // namespace

SampleDigest digest_of(const Measurement& measurement) {
  if (measurement.digest) return *measurement.digest;
  SampleDigest digest;
  digest.count = sample_count(measurement);
  if (digest.count > 0) digest.log_error = statistics::log_median_error(measurement.samples_s);
  digest.mean_clock_hz = mean_clock_hz(measurement);
  if (digest.mean_clock_hz) digest.median_clock_hz = statistics::median(measurement.sm_clock_hz);
  return digest;
}

std::int64_t sample_count(const Measurement& measurement) {
  return measurement.digest ? measurement.digest->count
                            : static_cast<std::int64_t>(measurement.samples_s.size());
}

std::optional<double> mean_clock_hz(const Measurement& measurement) {
  if (measurement.digest) return measurement.digest->mean_clock_hz;
  const std::vector<double>& clocks = measurement.sm_clock_hz;
  if (clocks.empty()) return std::nullopt;
  return std::accumulate(clocks.begin(), clocks.end(), 0.0) / static_cast<double>(clocks.size());
}

void leave_out_samples(Measurement& measurement) {
  if (!has_valid_samples(measurement)) return;
  measurement.digest = digest_of(measurement);
  measurement.samples_s = {};
  measurement.sm_clock_hz = {};
}

void mark_throttled(Measurement& row) {
  const std::vector<double>& clocks = row.sm_clock_hz;
  if (clocks.empty()) return;
  const double highest = *std::ranges::max_element(clocks);
  const double limit = (1.0 - kThrottledBelowHighest) * highest;
  row.throttled_samples =
      std::ranges::count_if(clocks, [limit](double clock) { return clock < limit; });
}

double throttled_share(const Measurement& measurement) {
  const std::int64_t samples = sample_count(measurement);
  if (!measurement.throttled_samples || samples == 0) return 0.0;
  return static_cast<double>(*measurement.throttled_samples) / static_cast<double>(samples);
}

double cost_of_company(const Measurement& measurement) {
  if (!measurement.alone || !measurement.time_s || measurement.alone->median_s <= 0.0) return 0.0;
  return measurement.time_s->median / measurement.alone->median_s - 1.0;
}

bool depends_on_company(const Measurement& measurement) {
  if (std::abs(cost_of_company(measurement)) <= kSameAlone) return false;
  if (std::abs(cost_in_cycles(measurement).value_or(1.0)) <= kSameAlone) return false;
  const std::optional<statistics::Interval>& company = measurement.time_s->ci95;
  const std::optional<statistics::Interval>& alone = measurement.alone->ci95;
  if (!company || !alone) return false;
  return company->low > alone->high || alone->low > company->high;
}

namespace {

// None where a rate of the device is not known.
std::optional<Roof> roof_of(const Measurement& row, const Ceilings& ceilings) {
  const auto flops_per_s = ceilings.flops_per_s.find(row.cell.output_type);
  if (row.flops <= 0.0 || ceilings.copy_bytes_per_s <= 0.0 ||
      flops_per_s == ceilings.flops_per_s.end()) {
    return std::nullopt;
  }
  const double bytes = static_cast<double>(row.bytes_read) + static_cast<double>(row.bytes_written);
  const double memory_s = bytes / ceilings.copy_bytes_per_s;
  const double compute_s = row.flops / flops_per_s->second;
  return Roof{.fraction = std::max(memory_s, compute_s) / row.time_s->median,
              .limit = compute_s > memory_s ? RoofLimit::kCompute : RoofLimit::kMemory};
}

}  // namespace

void derive_rates(Measurement& row, const Ceilings& ceilings) {
  const double bytes = static_cast<double>(row.bytes_read) + static_cast<double>(row.bytes_written);
  row.bytes_per_s = bytes / row.time_s->median;
  if (row.flops > 0.0) row.flops_per_s = row.flops / row.time_s->median;
  if (ceilings.copy_bytes_per_s > 0.0) {
    row.fraction_of_copy = *row.bytes_per_s / ceilings.copy_bytes_per_s;
  }
  row.roof = roof_of(row, ceilings);
}

void derive_speedups(const std::string& baseline, std::vector<Measurement>& rows) {
  const auto base = std::ranges::find_if(rows, [&](const Measurement& row) {
    return row.variant == baseline && row.status == Status::kPassed;
  });
  if (base == rows.end()) return;
  for (Measurement& row : rows) {
    if (row.status != Status::kPassed) continue;
    row.speedup = Speedup{.baseline = baseline};
    if (&row == &*base) continue;
    // An interrupted last round lacks some variants' samples.
    const std::size_t rounds = std::min(base->samples_s.size(), row.samples_s.size());
    const statistics::PairedRatio paired = statistics::paired_ratio(
        std::span(base->samples_s).first(rounds), std::span(row.samples_s).first(rounds));
    row.speedup->ratio = paired.ratio;
    row.speedup->ci95 = paired.ci95;
  }
}

}  // namespace nf4bench::record
