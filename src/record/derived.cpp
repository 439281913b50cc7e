#include "record/derived.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace nf4bench::record {
namespace {

// None where a rate of the device is not known.
std::optional<Roof> roof_of(const Measurement& row, const Ceilings& ceilings) {
  const auto flops_per_s = ceilings.flops_per_s.find(row.cell.output_type);
  if (row.flops <= 0.0 || ceilings.copy_bytes_per_s <= 0.0 ||
      flops_per_s == ceilings.flops_per_s.end()) {
    return std::nullopt;
  }
  const double bytes = static_cast<double>(row.bytes_read + row.bytes_written);
  const double memory_s = bytes / ceilings.copy_bytes_per_s;
  const double compute_s = row.flops / flops_per_s->second;
  return Roof{.fraction = std::max(memory_s, compute_s) / row.time_s->median,
              .limit = compute_s > memory_s ? RoofLimit::kCompute : RoofLimit::kMemory};
}

}  // namespace

void derive_rates(Measurement& row, const Ceilings& ceilings) {
  const double bytes = static_cast<double>(row.bytes_read + row.bytes_written);
  row.bytes_per_s = bytes / row.time_s->median;
  if (row.flops > 0.0) row.flops_per_s = row.flops / row.time_s->median;
  if (ceilings.copy_bytes_per_s > 0.0) {
    row.fraction_of_copy = *row.bytes_per_s / ceilings.copy_bytes_per_s;
  }
  row.roof = roof_of(row, ceilings);
}

void derive_speedups(const std::string& baseline, std::vector<Measurement>& rows) {
  const auto base = std::find_if(rows.begin(), rows.end(), [&](const Measurement& row) {
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
