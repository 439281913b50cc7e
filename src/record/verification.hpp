#pragma once

#include <cstdint>
#include <optional>

namespace nf4bench::record {

// The outcome of comparing an output with the reference. Two NaN are equal, whatever their bits;
// everything else must agree bit for bit, the sign of zero included.
struct Verification {
  std::int64_t compared = 0;                   // elements looked at
  std::int64_t mismatches = 0;                 // elements that differ
  std::optional<std::int64_t> first_mismatch;  // flat index of the first that differs
  std::uint64_t max_ulp = 0;  // greatest distance in units in the last place of the output type;
                              // a NaN against a number counts as the type's whole range
  bool is_exact() const { return mismatches == 0; }
};

}  // namespace nf4bench::record
