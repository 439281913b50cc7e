#pragma once

#include "bench/run_context.hpp"
#include "device/cpu/host_load.hpp"
#include "record/measurement.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::bench {

// Fewer samples than this say nothing: no row is made of them.
inline constexpr std::size_t kFewestSamples = 3;

// What a cell takes besides its samples.
inline constexpr double kWarmUpS = 0.05;  // samples before this are thrown away: clocks ramp up
inline constexpr std::size_t kStreamFinalists = 2;  // the fastest stream shapes take turns, too

// A variant or stream shape that is being timed in one cell.
struct Contender {
  const kernels::Variant* variant = nullptr;
  std::size_t index = 0;  // among the run's variants, or the device's stream shapes
  int launches = 1;       // a sample
  std::vector<double> samples_s{};
  std::vector<double> sm_clock_hz{};       // shorter than samples_s where some are unknown
  std::string failure{};                   // why it dropped out; empty while it runs
  std::string unavailable{};               // why it cannot be timed in this cell; empty when it can
  bool is_stream = false;                  // a stream shape
  std::optional<record::Energy> energy{};  // of a call
  device::IdleTime idle{};  // of threads of peers while a variant of our own took its samples
  std::optional<record::Verification> found{};  // of the output that made it drop out

  bool is_running() const { return failure.empty() && unavailable.empty(); }
};

// A cache mode and a launch mode of one workload, and what orders its rounds.
struct CellSpec {
  record::CacheMode cache = record::CacheMode::kCold;
  record::LaunchMode launch = record::LaunchMode::kGraph;
  std::uint64_t seed = 0;
  device::Expected expected{};                   // what samples are to leave in the outputs
  std::vector<std::function<void()>> changes{};  // of parts of the inputs, and so of that
};

// The samples taken in one cell.
struct CellTiming {
  record::CacheMode cache = record::CacheMode::kCold;
  record::LaunchMode launch = record::LaunchMode::kGraph;
  std::string unavailable{};               // why nothing could be timed; empty otherwise
  std::vector<Contender> variants{};       // those with an index in `passed`, in that order
  std::vector<Contender> streams{};        // the one or two fastest stream shapes
  std::optional<record::HostLoad> load{};  // of the processors meanwhile
  bool was_interrupted = false;
};

// Times the variants with the indices `passed`, and the best stream shapes beside them, interleaved
// in rounds until the median of every variant is known to the wanted precision or the time is up.
// What some samples wrote is judged, and between some of them the inputs change: nobody can tell
// which ones, not even from the seed. At the end every variant is checked. One whose output is
// wrong drops out.
CellTiming time_cell(const RunContext& context, device::Workload& workload, const CellSpec& spec,
                     const std::vector<std::size_t>& passed);

// Whether times of these launches are the host's as well: of a GPU's only those of plain ones.
bool depends_on_host(const RunContext& context, record::LaunchMode launch);

// Whether the median of `samples_s` is known as precisely as `options` want it.
bool is_steady(const std::vector<double>& samples_s, const record::RunOptions& options);

}  // namespace nf4bench::bench
