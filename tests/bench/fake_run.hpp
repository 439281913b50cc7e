#pragma once

// A run on the fake device: what goes in, with handy defaults, and what came out.

#include "bench/fake_device.hpp"
#include "bench/runner.hpp"
#include "plan/plan.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench {

// A plain tensor of `rows` x 64 elements, each block with a scale of its own.
inline nf4::Nf4Tensor fake_tensor(const std::string& name, std::int64_t rows) {
  nf4::Nf4Tensor tensor;
  tensor.name = name;
  tensor.source = "fake";
  tensor.shape = {rows, 64};
  tensor.elements = rows * 64;
  tensor.absmax_kind = nf4::AbsmaxKind::kPlain;
  for (std::int64_t i = 0; i < tensor.elements / 2; ++i) {
    tensor.packed.push_back(static_cast<std::uint8_t>(i * 37 + 11));
  }
  for (std::int64_t block = 0; block < tensor.blocks(); ++block) {
    tensor.absmax.push_back(1.0f + static_cast<float>(block));
  }
  return tensor;
}

inline plan::TensorSource fake_source(const std::string& name, std::int64_t rows = 8) {
  const nf4::Nf4Tensor tensor = fake_tensor(name, rows);
  plan::TensorSource source;
  source.name = name;
  source.source = tensor.source;
  source.geometry.shape = tensor.shape;
  source.geometry.absmax_kind = tensor.absmax_kind;
  source.dtype = tensor.dtype;
  source.load = [name, rows] { return fake_tensor(name, rows); };
  return source;
}

// The recorded rounds: the last `rounds` x `contenders` samples, cut into rounds.
inline std::vector<std::vector<std::string>> recorded_rounds(const FakeDevice& device,
                                                             std::size_t contenders,
                                                             std::size_t rounds) {
  const std::vector<FakeCall> samples = device.calls_of(FakeCall::Kind::kSample);
  std::vector<std::vector<std::string>> result;
  std::size_t at = samples.size() - contenders * rounds;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < contenders; ++i) names.push_back(samples[at++].variant);
    result.push_back(names);
  }
  return result;
}

struct FakeRun {
  explicit FakeRun(const std::vector<std::string>& variant_names = {"slow", "fast"},
                   const std::vector<std::string>& stream_names = {})
      : device(variant_names, stream_names) {
    options.baseline = variant_names.front();
    options.min_samples = 10;
    options.max_time_s = 0.1;
    ceilings.copy_bytes_per_s = 1e9;
  }

  // Runs `patterns` (all variants when empty) on `sources`.
  bench::RunOutcome run(const std::vector<plan::TensorSource>& sources = {fake_source("a")},
                        const std::vector<std::string>& patterns = {}) {
    const bench::RunObserver observer{
        .on_measurement = [this](const record::Measurement& row) { rows.push_back(row); },
        .on_stream_ceiling = [this](const record::StreamCeiling& best) { streams.push_back(best); },
        .on_progress = [this](double done,
                              const std::string& what) { progress.emplace_back(done, what); },
        .on_hang = on_hang};
    const bench::Clocks clocks = {.clock_s = [this] { return device.now_s; },
                                  .rest_s =
                                      [this](double seconds) {
                                        device.now_s += seconds;
                                        rested_s += seconds;
                                      },
                                  .read_load = read_load,
                                  .threads = threads};
    const operation::Operation operation = device.operation();
    const auto planned = plan::plan_tensors(sources, choice);
    const auto variants = plan::select_variants(device.variants(), patterns);
    outcome = bench::run_benchmark({device, operation, planned, variants, options, clocks},
                                   ceilings, observer, interrupted);
    return outcome;
  }

  // The only row of `variant`; an empty one when there is none or more.
  record::Measurement row(const std::string& variant) const {
    std::vector<record::Measurement> found;
    for (const record::Measurement& each : rows) {
      if (each.variant == variant) found.push_back(each);
    }
    return found.size() == 1 ? found.front() : record::Measurement{};
  }

  FakeDevice device;
  record::RunOptions options;
  record::Ceilings ceilings;
  plan::TensorChoice choice = plan::TensorChoice::kOnePerGeometry;
  std::atomic<bool> interrupted{false};
  std::function<void(const std::string&)> on_hang;
  std::function<device::LoadReading()> read_load = [] { return device::LoadReading{}; };
  device::ThreadWatch threads{[] { return std::vector<int>(); }};

  double rested_s = 0.0;  // between samples
  std::vector<record::Measurement> rows;
  std::vector<record::StreamCeiling> streams;
  std::vector<std::pair<double, std::string>> progress;
  bench::RunOutcome outcome;
};

}  // namespace nf4bench
