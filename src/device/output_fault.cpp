#include "device/output_fault.hpp"

#include <algorithm>

namespace nf4bench::device {
namespace {

bool is_poison(std::span<const std::byte> value) {
  return std::all_of(value.begin(), value.end(),
                     [](std::byte byte) { return byte == std::byte{kPoisonByte}; });
}

// Elements that are not what they should be, by what they are instead.
struct Count {
  std::int64_t wrong = 0;
  std::int64_t poison = 0;
  std::int64_t foreign = 0;
};

Count count(const Truth& truth, Content content, std::span<const std::byte> actual) {
  const std::span<const std::byte> wanted = truth.expected.of(content);
  const std::span<const std::byte> other = truth.expected.of(opposite(content));
  const std::size_t size = nf4::size_in_bytes(truth.work.problem.output_type);
  Count counted;
  for (std::size_t at = 0; at + size <= actual.size(); at += size) {
    const std::span<const std::byte> value = actual.subspan(at, size);
    const auto equals = [&](std::span<const std::byte> output) {
      return !output.empty() && std::equal(value.begin(), value.end(), output.begin() + at);
    };
    if (equals(wanted)) continue;
    ++counted.wrong;
    if (is_poison(value)) ++counted.poison;
    if (equals(other)) ++counted.foreign;
  }
  return counted;
}

}  // namespace

OutputFault fault_in(const Truth& truth, Content content, std::span<const std::byte> actual) {
  const Count counted = count(truth, content, actual);
  if (counted.poison > 0) return {.kind = FaultKind::kUnwritten, .elements = counted.poison};
  const bool is_foreign = counted.foreign > 0 && counted.foreign == counted.wrong;
  if (is_foreign) return {.kind = FaultKind::kForeign, .elements = counted.foreign};
  return {.kind = FaultKind::kWrong, .elements = counted.wrong};
}

}  // namespace nf4bench::device
