#include "plan/problems.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "operation/weight.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace nf4bench::plan {
namespace {

std::vector<nf4::OutputType> types_of(const TensorSource& source,
                                      const record::RunOptions& options) {
  return options.output_types.empty() ? std::vector{source.dtype} : options.output_types;
}

}  // namespace

std::vector<kernels::Problem> problems_of(const operation::Operation& operation,
                                          const TensorSource& source,
                                          const record::RunOptions& options) {
  const operation::WeightSize size = {.shape = source.geometry.shape,
                                      .blocksize = source.geometry.blocksize,
                                      .absmax_kind = source.geometry.absmax_kind,
                                      .stack = source.geometry.stack};
  std::vector<kernels::Problem> problems;
  for (const nf4::OutputType type : types_of(source, options)) {
    const auto posed = operation.problems(operation::problem_of(size, type), options);
    problems.insert(problems.end(), posed.begin(), posed.end());
  }
  return problems;
}

void check_types(const operation::Operation& operation, const std::vector<PlannedTensor>& tensors,
                 const record::RunOptions& options) {
  const std::vector<nf4::OutputType>& has = operation.output_types;
  if (has.empty()) return;
  for (const PlannedTensor& planned : tensors) {
    for (const nf4::OutputType type : types_of(planned.source, options)) {
      if (std::ranges::find(has, type) != has.end()) continue;
      std::vector<std::string> names;
      names.reserve(has.size());
      for (const nf4::OutputType each : has) names.emplace_back(to_string(each));
      throw Error(ErrorKind::kUsage,
                  "{} is not made for {}, as tensor \"{}\" would be; choose among {} with --dtype",
                  operation.name, to_string(type), escaped(planned.source.name),
                  fmt::join(names, ", "));
    }
  }
}

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
  throw Error(memory.kind,
              "tensor \"{}\" as {}{} needs {} bytes of memory {} at least, and there are {}; "
              "choose smaller tensors (--tensor){} or a smaller type (--dtype)",
              escaped(source.name), to_string(problem.output_type),
              has_tokens ? fmt::format(" with {} tokens", problem.tokens) : "", memory.needed,
              memory.where, memory.there, has_tokens ? ", fewer tokens (--tokens)" : "");
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
