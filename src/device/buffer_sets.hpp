#pragma once

#include "device/guarded_buffer.hpp"
#include "device/memory.hpp"
#include "device/work.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace nf4bench::device {

// The buffers of a work in a device's memory: a first set, and the others that cold samples rotate
// through. What does not rotate is shared by all. The memory outlives them.
class BufferSets {
 public:
  // Uploads the first set, with `guard` bytes before and after its output.
  BufferSets(Memory& memory, const Work& work, std::int64_t guard);

  // Adds as many sets as a cold sample needs that is to touch `cold_bytes` before a set comes round
  // again, or as memory allows. `work` is that of the first set.
  void add_for_cold(const Work& work, std::int64_t cold_bytes);

  // One job a set, without a workspace.
  const std::vector<kernels::Job>& jobs() const { return jobs_; }

  // The first set's.
  const GuardedBuffer& output() const { return output_; }

 private:
  using Place = std::function<std::byte*(std::int64_t bytes)>;

  void add_apart(const Work& work);
  void add_slab(const Work& work, std::int64_t count, std::int64_t set_bytes);
  std::vector<std::byte*> copy_inputs(const Work& work, const Place& place);

  Memory& memory_;
  std::int64_t guard_;
  std::vector<Buffer> inputs_;  // of the first set
  GuardedBuffer output_;
  std::vector<Buffer> others_;  // what the other sets are made of
  std::vector<GuardedBuffer> other_outputs_;
  std::vector<kernels::Job> jobs_;
};

}  // namespace nf4bench::device
