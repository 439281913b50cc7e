#include "operation/weight.hpp"

#include "nf4/format.hpp"
#include "operation/dequantize.hpp"

#include <bit>

namespace nf4bench::operation {
namespace {

// Where the buffers of a weight stand among those of its work.
enum InputIndex : std::size_t { kPacked, kScales, kNestedAbsmax, kNestedMap, kInput };

template <class Value>
device::InputBuffer buffer_of(const std::vector<Value>& values) {
  return {.content = std::as_bytes(std::span(values))};
}

const float* floats(std::byte* buffer) {
  return reinterpret_cast<const float*>(buffer);
}

kernels::Job bind(kernels::Job job, std::span<std::byte* const> inputs, std::byte* output) {
  job.packed = reinterpret_cast<const std::uint8_t*>(inputs[kPacked]);
  if (job.nested) {
    job.absmax_codes = reinterpret_cast<const std::uint8_t*>(inputs[kScales]);
    job.nested_absmax = floats(inputs[kNestedAbsmax]);
    job.nested_map = floats(inputs[kNestedMap]);
  } else {
    job.absmax = floats(inputs[kScales]);
  }
  job.input = inputs[kInput];
  job.output = output;
  return job;
}

}  // namespace

kernels::Problem problem_of(const WeightSize& size, nf4::OutputType type) {
  kernels::Problem problem;
  problem.elements = size.elements;
  problem.blocks = nf4::block_count(size.elements, size.blocksize);
  problem.block_shift = std::countr_zero(static_cast<unsigned>(size.blocksize));
  problem.nested = size.absmax_kind == nf4::AbsmaxKind::kNested;
  problem.output_type = type;
  return problem;
}

kernels::Problem problem_of(const nf4::Nf4Tensor& tensor, nf4::OutputType type) {
  return problem_of({tensor.elements, tensor.blocksize, tensor.absmax_kind}, type);
}

std::int64_t weight_bytes(const kernels::Problem& problem) {
  constexpr std::int64_t kFloat = sizeof(float);
  const std::int64_t packed = nf4::packed_bytes(problem.elements);
  if (!problem.nested) return packed + problem.blocks * kFloat;
  const std::int64_t nested_blocks = nf4::block_count(problem.blocks, nf4::kNestedBlocksize);
  return packed + problem.blocks + (nested_blocks + nf4::kNestedMapEntries) * kFloat;
}

device::Work make_work(const Operation& operation, const nf4::Nf4Tensor& tensor,
                       const kernels::Problem& problem, std::span<const std::byte> input) {
  kernels::Job job;
  static_cast<kernels::Problem&>(job) = problem;
  job.nested_offset = tensor.nested_offset;
  device::Work work;
  work.name = tensor.name;
  work.problem = problem;
  work.inputs.resize(kInput + 1);
  work.inputs[kPacked] = buffer_of(tensor.packed);
  work.inputs[kScales] = problem.nested ? buffer_of(tensor.absmax_codes) : buffer_of(tensor.absmax);
  work.inputs[kNestedAbsmax] = buffer_of(tensor.nested_absmax);
  work.inputs[kNestedMap] = buffer_of(tensor.nested_map);  // each layer of a checkpoint has its own
  // Activations come fresh from the layer before.
  work.inputs[kInput] = {.content = input, .rotates = false};
  work.output_bytes = operation.traffic(problem).bytes_written;
  work.bind = [job](std::span<std::byte* const> inputs, std::byte* output) {
    return bind(job, inputs, output);
  };
  work.judge.on_host = [judge = operation.judge, type = problem.output_type](
                           std::span<const std::byte> expected, std::span<const std::byte> actual) {
    return judge(type, expected, actual);
  };
  work.judge.on_device = operation.catalog(record::DeviceKind::kCuda).judge;
  return work;
}

device::Work dequantize_work(const nf4::Nf4Tensor& tensor, nf4::OutputType type) {
  return make_work(dequantize(), tensor, problem_of(tensor, type), {});
}

}  // namespace nf4bench::operation
