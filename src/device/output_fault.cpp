#include "device/output_fault.hpp"

#include "device/memory.hpp"

#include <algorithm>

namespace nf4bench::device {
namespace {

// Elements that are not what they should be, by what they are instead.
struct Count {
  std::int64_t wrong = 0;
  std::int64_t poison = 0;
  std::int64_t foreign = 0;
};

// Values that are judged together: a judge has a price for each call.
constexpr std::size_t kStretch = 64;

Count count_in(const Truth& truth, Content content, std::span<const std::byte> actual) {
  const std::size_t size = nf4::size_in_bytes(truth.work.problem.output_type);
  const auto expected_size = static_cast<std::size_t>(truth.work.judge.expected_bytes);
  const std::size_t values =
      std::min(actual.size() / size, truth.expected.of(content).size() / expected_size);
  Count counted;
  for (std::size_t first = 0; first < values; first += kStretch) {
    const std::size_t count = std::min(kStretch, values - first);
    const std::span<const std::byte> stretch = actual.subspan(first * size, count * size);
    const auto wrong_for = [&](Content wanted) {
      const std::span<const std::byte> expected =
          truth.expected.of(wanted).subspan(first * expected_size, count * expected_size);
      return truth.work.judge.on_host(expected, stretch).mismatches;
    };
    const std::int64_t wrong = wrong_for(content);
    if (wrong == 0) continue;
    counted.wrong += wrong;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_poison(stretch.subspan(i * size, size))) ++counted.poison;
    }
    const bool is_foreign =
        !truth.expected.of(opposite(content)).empty() && wrong_for(opposite(content)) == 0;
    if (is_foreign) counted.foreign += wrong;
  }
  return counted;
}

}  // namespace

OutputFault fault_in(const Truth& truth, Content content, std::span<const std::byte> actual) {
  const Count counted = count_in(truth, content, actual);
  if (counted.poison > 0) return {.kind = FaultKind::kUnwritten, .elements = counted.poison};
  const bool is_foreign = counted.foreign > 0 && counted.foreign == counted.wrong;
  if (is_foreign) return {.kind = FaultKind::kForeign, .elements = counted.foreign};
  return {.kind = FaultKind::kWrong, .elements = counted.wrong};
}

bool is_of_earlier_content(const Truth& truth, Content content, std::span<const std::byte> actual,
                           const std::deque<std::vector<ChangedOutputs>>& changes) {
  const std::span<const std::byte> now = truth.expected.of(content);
  std::vector<std::byte> wanted(now.begin(), now.end());
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    for (auto changed = change->rbegin(); changed != change->rend(); ++changed) {
      const std::vector<std::byte>& before = changed->before(content);
      std::ranges::copy(before, wanted.begin() + changed->first * truth.work.judge.expected_bytes);
    }
    if (truth.work.judge.on_host(wanted, actual).passed()) return true;
  }
  return false;
}

}  // namespace nf4bench::device
