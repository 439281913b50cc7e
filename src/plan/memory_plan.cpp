#include "plan/memory_plan.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::plan {

namespace {

void require(const TensorSource& source, nf4::OutputType type, std::int64_t needed,
             std::int64_t there, ErrorKind kind, const std::string& where) {
  if (there <= 0 || needed <= there) return;
  throw Error(kind, fmt::format("tensor \"{}\" as {} needs {} bytes of memory {} at least, and "
                                "there are {}; choose smaller tensors (--tensor) or a smaller "
                                "type (--dtype)",
                                escaped(source.name), to_string(type), needed, where, there));
}

}  // namespace

std::int64_t input_bytes(const TensorSource& source) {
  const std::int64_t blocks = source.geometry.blocks();
  const std::int64_t scales =
      source.geometry.absmax_kind == nf4::AbsmaxKind::kPlain
          ? 4 * blocks
          : blocks + 4 * (nf4::block_count(blocks, nf4::kNestedBlocksize) + nf4::kNestedMapEntries);
  return nf4::packed_bytes(source.geometry.elements()) + scales;
}

MemoryNeed memory_need(const TensorSource& source, nf4::OutputType type, record::DeviceKind kind,
                       record::VerifyScope verify) {
  const auto size = static_cast<std::int64_t>(nf4::size_in_bytes(type));
  const std::int64_t elements = source.geometry.elements();
  const std::int64_t compared =
      verify == record::VerifyScope::kAll ? elements : std::min(elements, record::kSampledElements);
  const std::int64_t input = input_bytes(source);
  const std::int64_t buffers = input + elements * size;
  const std::int64_t expected = compared * size;
  if (kind == record::DeviceKind::kCpu) return {.host_bytes = input + expected + buffers};
  return {.host_bytes = input + expected, .device_bytes = buffers + expected};
}

void check_memory(const std::vector<PlannedTensor>& tensors, const record::Settings& options,
                  const record::DeviceInfo& device, std::int64_t host_bytes) {
  const auto check = [&](const TensorSource& source, nf4::OutputType type) {
    const MemoryNeed need = memory_need(source, type, device.kind, options.verify);
    require(source, type, need.host_bytes, host_bytes, ErrorKind::kInput, "on the host");
    require(source, type, need.device_bytes, device.memory_bytes, ErrorKind::kDevice,
            fmt::format("on {}", device.id));
  };
  for (const PlannedTensor& planned : tensors) {
    std::vector<nf4::OutputType> types = options.output_types;
    if (types.empty()) types = {planned.source.dtype};
    for (const nf4::OutputType type : types) {
      check(planned.source, type);
      if (options.verify != record::VerifyScope::kAll) continue;
      for (const TensorSource& other : planned.verify_also) check(other, type);
    }
  }
}

}  // namespace nf4bench::plan
