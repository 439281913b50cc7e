#include "device/turns.hpp"

#include <algorithm>
#include <optional>

namespace nf4bench::device {

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
