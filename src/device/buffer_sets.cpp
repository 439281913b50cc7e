#include "device/buffer_sets.hpp"

#include "device/devices.hpp"

#include <algorithm>
#include <optional>
#include <utility>

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
    : memory_(memory), guard_(guard), has_sibling_(work.bind_sibling) {
  const auto upload = [&memory](std::span<const std::byte> content) {
    Buffer copy(memory, static_cast<std::int64_t>(content.size()), Access::kRead);
    if (copy.bytes() > 0) memory.copy_in(copy.data(), content);
    return copy;
  };
  for (const InputBuffer& input : work.inputs) {
    inputs_.push_back(upload(input.content));
    sibling_.push_back(upload(input.sibling));
    rotates_.push_back(input.rotates);
  }
  is_replaced_.resize(inputs_.size());
  output_ = GuardedBuffer(memory, work.output_bytes, guard);
  output_.poison();  // also maps its pages, so that no sample pays for that
  jobs_.push_back(work.bind(first_inputs(Content::kOwn), output_.data()));
  if (has_sibling_) {
    jobs_.push_back(work.bind_sibling(first_inputs(Content::kSibling), output_.data()));
  }
  const Content content = draw_content();
  sets_.push_back({content == Content::kOwn ? 0u : 1u, content, output_.data()});
}

void BufferSets::replace_input(std::size_t index, std::span<const std::byte> content) {
  if (content.empty()) return;
  memory_.copy_in(inputs_[index].data(), content);
  is_replaced_[index] = true;
  if (has_copies()) memory_.copy_in(copies_[index].data(), content);
}

void BufferSets::keep_copies() {
  for (const std::vector<Buffer>* const all : {&inputs_, &sibling_}) {
    for (const Buffer& each : *all) {
      const Buffer& copy = copies_.emplace_back(memory_, each.bytes(), Access::kPrivate);
      if (each.bytes() > 0) memory_.copy_within(copy.data(), each.data(), each.bytes());
    }
  }
}

// Of the buffers that hold an input of `content`: that of the first set, and those of the others.
std::vector<std::byte*> BufferSets::places_of_input(std::size_t index, Content content) const {
  std::vector<std::byte*> places;
  const Buffer& first = content == Content::kOwn ? inputs_[index] : sibling_[index];
  if (first.bytes() > 0) places.push_back(first.data());
  if (!rotates_[index] || is_replaced_[index] || inputs_[index].bytes() == 0) return places;
  for (std::size_t set = 1; set < sets_.size(); ++set) {
    const bool has_it =
        sibling_[index].bytes() == 0 ? content == Content::kOwn : sets_[set].content == content;
    if (has_it) places.push_back(other_inputs_[set - 1][index]);
  }
  return places;
}

bool BufferSets::repair() {
  bool was_changed = false;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const std::size_t index = i % inputs_.size();
    const Content content = i < inputs_.size() ? Content::kOwn : Content::kSibling;
    const std::vector<std::byte*> places = places_of_input(index, content);
    const Buffer& copy = copies_[i];
    if (places.empty() || memory_.equal(places, copy.data(), copy.bytes())) continue;
    was_changed = true;
    for (std::byte* const place : places) memory_.copy_within(place, copy.data(), copy.bytes());
  }
  return was_changed;
}

void BufferSets::overwrite(const ChangedInput& changed) {
  const std::size_t index = changed.input;
  overwrite(inputs_[index].data(), changed, Content::kOwn);
  if (sibling_[index].bytes() > 0) overwrite(sibling_[index].data(), changed, Content::kSibling);
  if (has_copies()) {
    overwrite(copies_[index].data(), changed, Content::kOwn);
    std::byte* const sibling = copies_[inputs_.size() + index].data();
    if (sibling != nullptr) overwrite(sibling, changed, Content::kSibling);
  }
  if (!rotates_[index]) return;
  for (std::size_t set = 1; set < sets_.size(); ++set) {
    overwrite(other_inputs_[set - 1][index], changed, sets_[set].content);
  }
}

// What does not rotate is to be in a cache.
void BufferSets::overwrite(std::byte* to, const ChangedInput& changed, Content content) {
  const std::vector<std::byte>& bytes = content == Content::kOwn ? changed.own : changed.sibling;
  memory_.copy_in(to + changed.at, bytes);
  if (rotates_[changed.input]) {
    memory_.evict(to + changed.at, static_cast<std::int64_t>(bytes.size()));
  }
}

// The buffer of the first set that holds an input of `content`; null when it is empty.
std::byte* BufferSets::first_input(std::size_t index, Content content) const {
  const bool is_shared = content == Content::kOwn || sibling_[index].bytes() == 0;
  return is_shared ? inputs_[index].data() : sibling_[index].data();
}

std::vector<std::byte*> BufferSets::first_inputs(Content content) const {
  std::vector<std::byte*> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs.push_back(first_input(i, content));
  return inputs;
}

// Of the next set. The second of each pair of sets is the opposite of the first.
Content BufferSets::draw_content() {
  if (!has_sibling_) return Content::kOwn;
  if (sets_.size() % 2 == 1) return opposite(sets_.back().content);
  return random_() % 2 == 0 ? Content::kOwn : Content::kSibling;
}

void BufferSets::add_for_cold(const Work& work, std::int64_t cold_bytes) {
  const std::int64_t set_bytes = set_bytes_of(work);
  const std::int64_t touched = work.touched_bytes > 0 ? work.touched_bytes : set_bytes;
  const std::int64_t wanted = cold_sets(touched, cold_bytes) - 1;
  if (wanted <= 0) return;
  const std::int64_t count = memory_.fitting_sets(wanted, set_bytes + work.prepared_bytes);
  if (count <= 0) return;
  if (memory_.layout() == Layout::kSlab) return add_slab(work, count, set_bytes);
  for (std::int64_t i = 0; i < count; ++i) add_apart(work);
}

void BufferSets::add_apart(const Work& work) {
  add_set(
      work,
      [this](std::int64_t bytes) {
        return others_.emplace_back(memory_, bytes, Access::kRead).data();
      },
      [this](std::int64_t bytes) {
        const GuardedBuffer& output = other_outputs_.emplace_back(memory_, bytes, guard_);
        output.poison();
        return output.data();
      });
}

void BufferSets::add_slab(const Work& work, std::int64_t count, std::int64_t set_bytes) {
  const Buffer& slab = others_.emplace_back(memory_, count * set_bytes, Access::kWrite);
  memory_.fill(slab.data(), kPoisonByte, slab.bytes());
  std::byte* next = slab.data();
  const Place place = [&next](std::int64_t bytes) {
    std::byte* const taken = next;
    next += aligned_bytes(bytes);
    return taken;
  };
  for (std::int64_t set = 0; set < count; ++set) add_set(work, place, place);
}

// One more set, its buffers where `place` and `place_output` put them.
void BufferSets::add_set(const Work& work, const Place& place, const Place& place_output) {
  const Content content = draw_content();
  std::vector<std::byte*> inputs = first_inputs(content);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t bytes = inputs_[i].bytes();
    if (!work.inputs[i].rotates || bytes == 0) continue;
    const std::byte* const first = inputs[i];
    inputs[i] = place(bytes);
    memory_.copy_within(inputs[i], first, bytes);
  }
  std::byte* const output = place_output(work.output_bytes);
  sets_.push_back({jobs_.size(), content, output});
  const auto& bind = content == Content::kOwn ? work.bind : work.bind_sibling;
  jobs_.push_back(bind(inputs, output));
  other_inputs_.push_back(std::move(inputs));
}

std::size_t place_of(std::size_t sets, const CallRange& range, std::size_t index) {
  const std::size_t at = range.first_set + index;
  if (range.cache == record::CacheMode::kHot || sets == 1) return at % 2;
  const std::size_t time = index / sets % 2;
  return 2 + 2 * (at % sets) + time;
}

Turn turn_at(const BufferSets& buffers, std::size_t place) {
  const std::vector<BufferSet>& sets = buffers.sets();
  if (place < 2) {
    const bool is_first = !buffers.has_sibling() || place == 0;
    const Content content = is_first ? sets[0].content : opposite(sets[0].content);
    return {content == Content::kOwn ? 0u : 1u, 0, content};
  }
  const std::size_t set = (place - 2) / 2;
  const std::size_t neighbour = (set ^ 1u) < sets.size() ? set ^ 1u : set;
  return {sets[set].job, place % 2 == 0 ? set : neighbour, sets[set].content};
}

Turn turn_of(const BufferSets& buffers, const CallRange& range, std::size_t index) {
  return turn_at(buffers, place_of(buffers.sets().size(), range, index));
}

// The last two rounds through the sets write every output: what was there before is gone.
std::vector<Written> written_by(const BufferSets& buffers, const CallRange& range) {
  const std::vector<BufferSet>& sets = buffers.sets();
  const std::size_t round = range.cache == record::CacheMode::kHot ? 1 : sets.size();
  const auto count = static_cast<std::size_t>(range.count);
  std::vector<Written> outputs;
  std::vector<std::optional<std::size_t>> places(sets.size());
  for (std::size_t i = count - std::min(count, 2 * round); i < count; ++i) {
    const Turn turn = turn_of(buffers, range, i);
    std::optional<std::size_t>& place = places[turn.set];
    if (!place) {
      place = outputs.size();
      outputs.push_back({.set = turn.set, .output = sets[turn.set].output});
    }
    outputs[*place].content = turn.content;
  }
  return outputs;
}

std::vector<std::size_t> others_than(const std::vector<Written>& outputs, std::size_t sets) {
  std::vector<bool> is_written(sets);
  for (const Written& each : outputs) is_written[each.set] = true;
  std::vector<std::size_t> others;
  for (std::size_t set = 0; set < sets; ++set) {
    if (!is_written[set]) others.push_back(set);
  }
  return others;
}

}  // namespace nf4bench::device
