#include "device/turns.hpp"

#include <algorithm>
#include <optional>

namespace nf4bench::device {

Turn turn_of(const BufferSets& buffers, const CallRange& range, std::size_t index) {
  const std::vector<BufferSet>& sets = buffers.sets();
  if (range.cache == record::CacheMode::kHot || sets.size() == 1) {
    const bool is_first = !buffers.has_sibling() || (range.first_set + index) % 2 == 0;
    const Content content = is_first ? sets[0].content : opposite(sets[0].content);
    return {content == Content::kOwn ? 0u : 1u, 0, content};
  }
  const std::size_t set = (range.first_set + index) % sets.size();
  const std::size_t neighbour = (set ^ 1u) < sets.size() ? set ^ 1u : set;
  const bool is_first_time = index / sets.size() % 2 == 0;
  return {sets[set].job, is_first_time ? set : neighbour, sets[set].content};
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
