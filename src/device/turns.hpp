#pragma once

#include "device/buffer_sets.hpp"
#include "device/executor.hpp"

#include <cstddef>
#include <vector>

namespace nf4bench::device {

// A call: the inputs of a job of BufferSets, the set whose output it writes, and what it leaves
// there.
struct Turn {
  std::size_t job = 0;
  std::size_t set = 0;
  Content content = Content::kOwn;
};

// Which of all calls that there are on `sets` sets call number `index` of a range is: the two hot
// ones come first, then those of each set, as it is met for the first time and again.
std::size_t place_of(std::size_t sets, const CallRange& range, std::size_t index);

// How many calls there are.
constexpr std::size_t places_of(std::size_t sets) {
  return 2 + 2 * sets;
}

Turn turn_at(const BufferSets& buffers, std::size_t place);

// Call number `index` of a range. No call finds what it is to write: hot calls leave both contents
// in turn, and cold ones that come round to a set again write the output of its neighbour, which
// has the other content.
Turn turn_of(const BufferSets& buffers, const CallRange& range, std::size_t index);

// The outputs that a range writes, each once, with what it leaves there.
std::vector<Written> written_by(const BufferSets& buffers, const CallRange& range);

// Those of `sets` sets whose output is not among `outputs`.
std::vector<std::size_t> others_than(const std::vector<Written>& outputs, std::size_t sets);

}  // namespace nf4bench::device
