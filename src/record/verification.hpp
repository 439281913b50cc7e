#pragma once

#include "base/words.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace nf4bench::record {

// With which weights a matrix product was computed, as far as its error tells.
enum class WeightClass : std::uint8_t {
  kExact,    // "exact-weights": those that dequantization gives
  kRounded,  // "rounded-weights": codebook value, scale and product each rounded to 16 bits, say
  kUnseen,   // "unseen-weights": no true output is a number other than 0, whatever the weights are
};

constexpr auto words(WeightClass /*any*/) {
  using enum WeightClass;
  return std::to_array<Word<WeightClass>>(
      {{kExact, "exact-weights"}, {kRounded, "rounded-weights"}, {kUnseen, "unseen-weights"}});
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

// What explains an output that is wrong.
enum class WrongPattern : std::uint8_t {
  kOther,
  kNotWritten,
  kAllZero,
  kTail,            // all is right but for what comes last
  kSwappedNibbles,  // each element has the code of the other one in its byte
  kOffByABlock,     // scales are those of the block before or behind
  kNestedIgnored,  // scales are codes of scales, or lack what these are multiplied with or added to
  kRounding,       // each is within a step or two of what it should be
};

constexpr auto words(WrongPattern /*any*/) {
  using enum WrongPattern;
  return std::to_array<Word<WrongPattern>>({{kOther, "other"},
                                            {kNotWritten, "not_written"},
                                            {kAllZero, "all_zero"},
                                            {kTail, "tail"},
                                            {kSwappedNibbles, "swapped_nibbles"},
                                            {kOffByABlock, "off_by_a_block"},
                                            {kNestedIgnored, "nested_ignored"},
                                            {kRounding, "rounding"}});
}

// What is wrong with what a timed sample left in an output.
enum class FaultKind : std::uint8_t {
  kWrong,      // the judge says what
  kUnwritten,  // elements hold the poison that lay there before
  kSkipped,    // the same, where poison was strewn over what was right, but not where nothing was
  kForeign,    // elements hold what belongs to a set of the other content
  kStale,      // elements hold what was right for what the inputs held before a change
  kLate,       // elements were right only some time after the sample
  kStray,      // nothing was to be written there
};

constexpr auto words(FaultKind /*any*/) {
  using enum FaultKind;
  return std::to_array<Word<FaultKind>>({{kWrong, "wrong"},
                                         {kUnwritten, "unwritten"},
                                         {kSkipped, "skipped"},
                                         {kForeign, "foreign"},
                                         {kStale, "stale"},
                                         {kLate, "late"},
                                         {kStray, "stray"}});
}

// The first element of an output that is wrong.
struct FirstWrong {
  std::int64_t element = 0;
  std::int64_t row = 0;  // of the output as a matrix
  std::int64_t column = 0;
  std::optional<std::int64_t> block{};  // these three where an element is one of the weight
  std::optional<int> nibble{};
  std::optional<double> scale{};
  std::string wanted_bits{};                    // "0x3c00"; empty where a range of values is right
  std::string got_bits{};                       //
  std::optional<double> wanted{};               // absent where it is infinite or NaN
  std::optional<double> got{};                  //
  WrongPattern pattern = WrongPattern::kOther;  // of all that is wrong
};

// The outcome of holding an output to the reference. What a mismatch is the operation says: for
// dequantization a difference in any bit (two NaN are equal), for a matrix product an error that
// rounding cannot explain.
struct Verification {
  std::int64_t compared = 0;    // elements looked at
  std::int64_t mismatches = 0;  // elements that differ by more than the operation allows
  std::optional<std::int64_t> first_mismatch;  // flat index of the first that differs
  std::uint64_t max_ulp = 0;  // greatest distance in units in the last place of the output type;
                              // a NaN against a number counts as the type's whole range
  std::optional<Accuracy> accuracy = std::nullopt;       // of operations whose outputs are inexact
  std::optional<FirstWrong> first_wrong = std::nullopt;  // as far as somebody looked
  std::optional<FaultKind> fault = std::nullopt;         // of outputs of timed samples

  // Bit for bit, or where outputs are inexact within the operation's bound.
  bool passed() const { return mismatches == 0; }
};

}  // namespace nf4bench::record
