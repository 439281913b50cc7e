#pragma once

#include <cstdint>
#include <optional>

namespace nf4bench::record {

// With which weights a matrix product was computed, as far as its error tells.
enum class WeightClass : std::uint8_t {
  kExact,    // "exact-weights": those that dequantization gives
  kRounded,  // "rounded-weights": codebook value, scale and product each rounded to 16 bits, say
  kUnseen,   // "unseen-weights": no true output is a number other than 0, whatever the weights are
};

constexpr const char* to_string(WeightClass weights) {
  if (weights == WeightClass::kUnseen) return "unseen-weights";
  return weights == WeightClass::kExact ? "exact-weights" : "rounded-weights";
}

// Of how many inputs a matrix product's weights were seen: each weight for itself, as an output of
// its own, and in sums that show whether each weight has its own code.
struct InputsSeen {
  std::int64_t alone = 0;
  std::int64_t summed = 0;
};

// How far an inexact output is from the truth, relative to the root mean square of the truth.
struct Accuracy {
  WeightClass weights = WeightClass::kExact;
  double rms_error = 0.0;
  double max_error = 0.0;
  std::optional<InputsSeen> inputs = std::nullopt;  // before it was timed; absent: not known
};

// The outcome of holding an output to the reference. What a mismatch is the operation says: for
// dequantization a difference in any bit (two NaN are equal), for a matrix product an error that
// rounding cannot explain.
struct Verification {
  std::int64_t compared = 0;                   // elements looked at
  std::int64_t mismatches = 0;                 // elements that differ
  std::optional<std::int64_t> first_mismatch;  // flat index of the first that differs
  std::uint64_t max_ulp = 0;  // greatest distance in units in the last place of the output type;
                              // a NaN against a number counts as the type's whole range
  std::optional<Accuracy> accuracy = std::nullopt;  // of operations whose outputs are inexact
  bool is_exact() const { return mismatches == 0; }
};

}  // namespace nf4bench::record
