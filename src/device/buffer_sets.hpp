#pragma once

#include "device/device.hpp"
#include "device/executor.hpp"
#include "device/memory.hpp"
#include "device/work.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <vector>

namespace nf4bench::device {

// A set of buffers.
struct BufferSet {
  std::size_t job = 0;  // among BufferSets::jobs()
  Content content = Content::kOwn;
  std::byte* output = nullptr;
};

// The buffers of a work in a device's memory: a first set, and the others that cold samples rotate
// through. What does not rotate is shared by all. Sets hold the work or its sibling: of two
// neighbours one each, and nobody can tell which. The memory outlives them.
class BufferSets {
 public:
  // Uploads the first set, with `guard` bytes before and after its output. With a sibling, its
  // inputs are there in both contents.
  BufferSets(Memory& memory, const Work& work, std::int64_t guard);

  // Adds as many sets as a cold sample needs that is to touch `cold_bytes` before a set comes round
  // again, or as memory allows. `work` is that of the first set.
  void add_for_cold(const Work& work, std::int64_t cold_bytes);

  // Copies `content` over an input of the first set, which is as large.
  void replace_input(std::size_t index, std::span<const std::byte> content);

  // Writes the bytes of a change over an input in all sets.
  void overwrite(const ChangedInput& changed);

  // Copies what the inputs hold to where no variant can write it; from then on that is kept up to
  // date. Whoever called before is trusted.
  void keep_copies();
  bool has_copies() const { return !copies_.empty(); }

  // Compares all inputs with the copies. True if one differed: all hold what they should again.
  bool repair();

  // At least one.
  const std::vector<BufferSet>& sets() const { return sets_; }

  // One job for each inputs, without a workspace: first the work in the first set, then its sibling
  // there, if there is one, then the other sets.
  const std::vector<kernels::Job>& jobs() const { return jobs_; }
  bool has_sibling() const { return has_sibling_; }

  // The first set's.
  const GuardedBuffer& output() const { return output_; }

 private:
  using Place = std::function<std::byte*(std::int64_t bytes)>;

  void overwrite(std::byte* to, const ChangedInput& changed, Content content);
  std::byte* first_input(std::size_t index, Content content) const;
  std::vector<std::byte*> first_inputs(Content content) const;
  Content draw_content();
  std::vector<std::byte*> places_of_input(std::size_t index, Content content) const;
  void add_apart(const Work& work);
  void add_slab(const Work& work, std::int64_t count, std::int64_t set_bytes);
  void add_set(const Work& work, const Place& place, const Place& place_output);

  Memory& memory_;
  std::int64_t guard_;
  std::vector<Buffer> inputs_;     // of the first set
  std::vector<Buffer> sibling_;    // those in which the sibling differs; the others are empty
  std::vector<bool> rotates_;      // those that each set has of its own
  std::vector<bool> is_replaced_;  // those of the first set that the other sets do not have
  bool has_sibling_ = false;
  std::random_device random_;
  std::vector<Buffer> copies_;  // of inputs_, then of sibling_
  GuardedBuffer output_;
  std::vector<Buffer> others_;  // what the other sets are made of
  std::vector<GuardedBuffer> other_outputs_;
  std::vector<std::vector<std::byte*>> other_inputs_;  // of the other sets, in their order
  std::vector<kernels::Job> jobs_;
  std::vector<BufferSet> sets_;
};

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
