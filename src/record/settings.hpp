#pragma once

#include "nf4/format.hpp"
#include "record/cell.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::record {

enum class VerifyScope : std::uint8_t {
  kAll,      // every element of every selected tensor
  kSampled,  // only the timed tensors, and of these at most the first 16 Mi elements
};

// How many elements VerifyScope::kSampled compares at most.
inline constexpr std::int64_t kSampledElements = std::int64_t{16} << 20;

// What the activations x of a matrix product look like.
enum class Activations : std::uint8_t {
  kNormal,   // N(0, 1)
  kOutlier,  // N(0, 1), one channel in a hundred scaled by 100, as in trained models
};

constexpr const char* to_string(Activations kind) {
  return kind == Activations::kNormal ? "normal" : "outlier";
}

struct Settings {
  std::vector<nf4::OutputType> output_types;  // empty: the type each tensor's state names
  std::vector<CacheMode> caches = {CacheMode::kCold};
  std::vector<LaunchMode> launches;  // empty: the device's first
  std::string baseline;              // variant name; may be missing from the selection
  int caches_rotated = 0;            // cold samples: the sets of a rotation, in last-level caches;
                                     // 0 until the device is known
  int min_samples = 30;
  double max_time_s = 2.0;     // a measurement: one variant in one cell
  double precision = 0.005;    // wanted relative half-width of the median's interval
  double min_sample_s = 1e-4;  // a sample holds so many launches that it lasts at least this long
  std::uint64_t seed = 42;     // of the order in which variants take turns
  VerifyScope verify = VerifyScope::kAll;
  bool measure_stream_shapes = true;              // also time the kernels that only move the bytes
  std::vector<std::int64_t> tokens = {1, 8, 64};  // numbers of tokens that are multiplied with
  Activations activations = Activations::kNormal;
  double call_timeout_s = 300.0;  // a call of a variant that takes longer hangs; 0: none does
};

}  // namespace nf4bench::record
