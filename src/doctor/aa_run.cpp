#include "doctor/aa_run.hpp"

#include "bench/runner.hpp"
#include "nf4/synthetic.hpp"
#include "statistics/statistics.hpp"

#include <cmath>

namespace nf4bench::doctor {
namespace {

plan::TensorSource source_of(const std::vector<std::int64_t>& shape) {
  const nf4::SyntheticSpec spec = {.name = "doctor",
                                   .shape = shape,
                                   .dtype = nf4::OutputType::kBfloat16,
                                   .distribution = nf4::Distribution::kRandomCodes};
  plan::TensorSource source;
  source.name = spec.name;
  source.source = "synthetic";
  source.geometry = {.shape = shape, .blocksize = spec.blocksize, .absmax_kind = spec.absmax_kind};
  source.dtype = spec.dtype;
  source.load = [spec] { return nf4::make_synthetic(spec); };
  return source;
}

// One run of both sides: their rows.
std::vector<record::Measurement> one_run(device::Device& device, const AaOptions& options,
                                         int number, const std::atomic<bool>& interrupted) {
  record::RunOptions run;
  run.launches = {device.launch_modes().front()};
  run.max_time_s = options.run_s / 2;
  run.precision = 0.0;  // never reached: every run takes its time
  run.seed += static_cast<std::uint64_t>(number);
  run.verify = record::VerifyScope::kSampled;
  run.measure_stream_shapes = false;
  run.tokens = {1};  // as in decoding
  std::vector<record::Measurement> rows;
  const bench::RunObserver observer{
      .on_measurement = [&rows](const record::Measurement& row) { rows.push_back(row); },
      .on_stream_ceiling = {},
      .on_progress =
          [&](double done, const std::string&) {
            if (options.on_progress) options.on_progress((number + done) / (options.runs + 1));
          }};
  const operation::Operation& operation = *options.operation;
  const auto planned = plan::plan_tensors({source_of(options.shape)}, plan::TensorChoice::kAll);
  const auto sides = plan::select_variants(operation.catalog(device.info().kind).variants,
                                           {options.variant, options.variant});
  bench::run_benchmark({device, operation, planned, sides, run, {.clock_s = options.clock_s}},
                       record::Ceilings{}, observer, interrupted);
  return rows;
}

AaOptions with_defaults(AaOptions options, const device::Device& device) {
  const record::DeviceKind kind = device.info().kind;
  if (options.variant.empty()) options.variant = options.operation->catalog(kind).flagship;
  if (options.shape.empty()) {
    options.shape.assign(2, kind == record::DeviceKind::kCuda ? 4096 : 2048);
  }
  return options;
}

// Why `rows` are no measurement of two sides; empty when they are.
std::string failure_of(const std::vector<record::Measurement>& rows) {
  for (const record::Measurement& row : rows) {
    if (row.status != record::Status::kPassed || !row.time_s) {
      return std::string(to_string(row.status)) + ": " + row.reason;
    }
  }
  return rows.size() == 2 ? "" : "it was not measured";
}

constexpr double kSure = 0.995;  // one-sided

struct Moments {
  double mean = 0.0;
  double variance = 0.0;  // of the population that `values` are drawn from
};

Moments moments(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Moments result;
  for (const double value : values) result.mean += value / count;
  for (const double value : values) {
    result.variance += (value - result.mean) * (value - result.mean) / (count - 1.0);
  }
  return result;
}

}  // namespace

AaRun run_against_itself(device::Device& device, const AaOptions& asked,
                         const std::atomic<bool>& interrupted) {
  const AaOptions options = with_defaults(asked, device);
  AaRun aa;
  aa.variant = options.variant;
  aa.shape = options.shape;
  for (int number = 0; number <= options.runs; ++number) {
    const std::vector<record::Measurement> rows = one_run(device, options, number, interrupted);
    aa.was_interrupted = interrupted.load();
    if (aa.was_interrupted) return aa;
    aa.failure = failure_of(rows);
    if (!aa.failure.empty()) return aa;
    if (number == 0) continue;  // it woke the device up
    aa.runs.push_back({rows[0].time_s->median, rows[1].time_s->median});
    for (const record::Measurement& row : rows) {
      aa.sm_clock_hz.insert(aa.sm_clock_hz.end(), row.sm_clock_hz.begin(), row.sm_clock_hz.end());
    }
  }
  return aa;
}

AaNoise aa_noise(const std::vector<AaPair>& runs, const compare::RunNoise& assumed) {
  std::vector<double> first;
  std::vector<double> second;
  std::vector<double> change;
  for (const AaPair& run : runs) {
    first.push_back(std::log(run.first_s));
    second.push_back(std::log(run.second_s));
    change.push_back(second.back() - first.back());
  }
  AaNoise noise;
  noise.relative = std::sqrt((moments(first).variance + moments(second).variance) / 2.0);
  noise.assumed = assumed.relative;
  noise.threshold = compare::kThresholdInNoise * assumed.relative;
  // The difference of two runs has a standard deviation of sqrt(2) times that of one.
  noise.false_alarms = std::erfc(std::log1p(noise.threshold) / (2.0 * noise.relative));
  const Moments sides = moments(change);
  const auto count = static_cast<double>(runs.size());
  const double half_width = statistics::student_quantile(kSure, static_cast<int>(runs.size()) - 1) *
                            std::sqrt(sides.variance / count);
  noise.side_change = std::expm1(sides.mean);
  noise.sides_differ = std::abs(sides.mean) > assumed.relative && std::abs(sides.mean) > half_width;
  return noise;
}

}  // namespace nf4bench::doctor
