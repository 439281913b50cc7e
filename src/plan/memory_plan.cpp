#include "plan/memory_plan.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/problems.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::plan {

namespace {

// Memory of one kind that a tensor may lack.
struct Shortage {
  std::int64_t needed = 0;
  std::int64_t there = 0;  // 0: not known
  ErrorKind kind = ErrorKind::kInput;
  std::string where;
};

void require(const TensorSource& source, const kernels::Problem& problem, const Shortage& memory) {
  if (memory.there <= 0 || memory.needed <= memory.there) return;
  const bool has_tokens = problem.tokens > 0;
  throw Error(
      memory.kind,
      fmt::format("tensor \"{}\" as {}{} needs {} bytes of memory {} at least, and there are "
                  "{}; choose smaller tensors (--tensor){} or a smaller type (--dtype)",
                  escaped(source.name), to_string(problem.output_type),
                  has_tokens ? fmt::format(" with {} tokens", problem.tokens) : "", memory.needed,
                  memory.where, memory.there, has_tokens ? ", fewer tokens (--tokens)" : ""));
}

}  // namespace

MemoryNeed memory_need(const operation::Operation& operation, const kernels::Problem& problem,
                       const MemoryUse& use) {
  const operation::Traffic traffic = operation.traffic(problem);
  const std::int64_t contents = use.is_timed && operation.sibling ? 2 : 1;
  const std::int64_t expected =
      contents * operation::expected_bytes(operation, problem, record::most_compared(use.verify));
  const std::int64_t buffers = traffic.bytes_read + traffic.bytes_written;
  const std::int64_t host = contents * traffic.bytes_read + expected;
  if (use.kind == record::DeviceKind::kCpu) return {.host_bytes = host + buffers};
  return {.host_bytes = host, .device_bytes = buffers + expected};
}

void check_memory(const operation::Operation& operation, const std::vector<PlannedTensor>& tensors,
                  const record::RunOptions& options, const MemoryThere& there) {
  const auto check = [&](const TensorSource& source, bool is_timed) {
    for (const kernels::Problem& problem : problems_of(operation, source, options)) {
      const MemoryNeed need =
          memory_need(operation, problem, {there.device.kind, options.verify, is_timed});
      const Shortage host = {need.host_bytes, there.host_bytes, ErrorKind::kInput, "on the host"};
      require(source, problem, host);
      require(source, problem,
              {need.device_bytes, there.device.memory_bytes, ErrorKind::kDevice,
               fmt::format("on {}", there.device.id)});
    }
  };
  for (const PlannedTensor& planned : tensors) {
    check(planned.source, true);
    if (options.verify != record::VerifyScope::kAll) continue;
    for (const TensorSource& other : planned.verify_also) check(other, false);
  }
}

}  // namespace nf4bench::plan
