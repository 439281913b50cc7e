#include "plan/memory_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace nf4bench {

namespace {

void require(const TensorSource& source, OutputType type, std::int64_t needed, std::int64_t there,
             ErrorKind kind, const std::string& where) {
  if (there <= 0 || needed <= there) return;
  throw Error(kind, fmt::format("tensor \"{}\" as {} needs {} bytes of memory {} at least, and "
                                "there are {}; choose smaller tensors (--tensor) or a smaller "
                                "type (--dtype)",
                                escaped(source.name), to_string(type), needed, where, there));
}

}  // namespace

std::int64_t input_bytes(const TensorSource& source) {
  const std::int64_t blocks = block_count(source.elements, source.blocksize);
  const std::int64_t scales =
      source.absmax_kind == AbsmaxKind::kPlain
          ? 4 * blocks
          : blocks + 4 * (block_count(blocks, kNestedBlocksize) + kNestedMapEntries);
  return packed_bytes(source.elements) + scales;
}

MemoryNeed memory_need(const TensorSource& source, OutputType type, DeviceKind kind,
                       VerifyScope verify) {
  const auto size = static_cast<std::int64_t>(size_in_bytes(type));
  const std::int64_t compared =
      verify == VerifyScope::kAll ? source.elements : std::min(source.elements, kSampledElements);
  const std::int64_t input = input_bytes(source);
  const std::int64_t buffers = input + source.elements * size;
  const std::int64_t expected = compared * size;
  if (kind == DeviceKind::kCpu) return {.host_bytes = input + expected + buffers};
  return {.host_bytes = input + expected, .device_bytes = buffers + expected};
}

void check_memory(const std::vector<PlannedTensor>& tensors, const RunOptions& options,
                  const DeviceInfo& device, std::int64_t host_bytes) {
  const auto check = [&](const TensorSource& source, OutputType type) {
    const MemoryNeed need = memory_need(source, type, device.kind, options.verify);
    require(source, type, need.host_bytes, host_bytes, ErrorKind::kInput, "on the host");
    require(source, type, need.device_bytes, device.memory_bytes, ErrorKind::kDevice,
            fmt::format("on {}", device.id));
  };
  for (const PlannedTensor& planned : tensors) {
    std::vector<OutputType> types = options.output_types;
    if (types.empty()) types = {planned.source.dtype};
    for (const OutputType type : types) {
      check(planned.source, type);
      if (options.verify != VerifyScope::kAll) continue;
      for (const TensorSource& other : planned.verify_also) check(other, type);
    }
  }
}

}  // namespace nf4bench
