#include "device/buffer_sets.hpp"

#include "device/rotation.hpp"

namespace nf4bench::device {
namespace {

std::int64_t bytes_of(const InputBuffer& input) {
  return static_cast<std::int64_t>(input.content.size());
}

// Of what each set has of its own.
std::int64_t set_bytes_of(const Work& work) {
  std::int64_t bytes = aligned_bytes(work.output_bytes);
  for (const InputBuffer& input : work.inputs) {
    if (input.rotates) bytes += aligned_bytes(bytes_of(input));
  }
  return bytes;
}

}  // namespace

BufferSets::BufferSets(Memory& memory, const Work& work, std::int64_t guard)
    : memory_(memory), guard_(guard) {
  std::vector<std::byte*> inputs;
  for (const InputBuffer& input : work.inputs) {
    const Buffer& copy = inputs_.emplace_back(memory, bytes_of(input));
    if (copy.bytes() > 0) memory.copy_in(copy.data(), input.content);
    inputs.push_back(copy.data());
  }
  output_ = GuardedBuffer(memory, work.output_bytes, guard);
  output_.poison();  // also maps its pages, so that no sample pays for that
  jobs_.push_back(work.bind(inputs, output_.data()));
}

void BufferSets::add_for_cold(const Work& work, std::int64_t cold_bytes) {
  const std::int64_t set_bytes = set_bytes_of(work);
  const std::int64_t wanted = cold_sets(set_bytes, cold_bytes) - 1;
  if (wanted <= 0) return;
  const std::int64_t count = memory_.fitting_sets(wanted, set_bytes);
  if (count <= 0) return;
  if (memory_.layout() == Layout::kSlab) return add_slab(work, count, set_bytes);
  for (std::int64_t i = 0; i < count; ++i) add_apart(work);
}

void BufferSets::add_apart(const Work& work) {
  const std::vector<std::byte*> inputs = copy_inputs(
      work, [this](std::int64_t bytes) { return others_.emplace_back(memory_, bytes).data(); });
  const GuardedBuffer& output = other_outputs_.emplace_back(memory_, work.output_bytes, guard_);
  output.poison();
  jobs_.push_back(work.bind(inputs, output.data()));
}

void BufferSets::add_slab(const Work& work, std::int64_t count, std::int64_t set_bytes) {
  std::byte* next = others_.emplace_back(memory_, count * set_bytes).data();
  const Place place = [&next](std::int64_t bytes) {
    std::byte* const taken = next;
    next += aligned_bytes(bytes);
    return taken;
  };
  for (std::int64_t set = 0; set < count; ++set) {
    const std::vector<std::byte*> inputs = copy_inputs(work, place);
    jobs_.push_back(work.bind(inputs, place(work.output_bytes)));
  }
}

// The inputs of one more set, where `place` puts them.
std::vector<std::byte*> BufferSets::copy_inputs(const Work& work, const Place& place) {
  std::vector<std::byte*> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Buffer& first = inputs_[i];
    inputs.push_back(first.data());
    if (!work.inputs[i].rotates || first.bytes() == 0) continue;
    inputs.back() = place(first.bytes());
    memory_.copy_within(inputs.back(), first.data(), first.bytes());
  }
  return inputs;
}

}  // namespace nf4bench::device
