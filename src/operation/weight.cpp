#include "operation/weight.hpp"

#include "layer.hpp"
#include "nf4/format.hpp"
#include "operation/dequantize.hpp"
#include "operation/routing.hpp"

#include <algorithm>
#include <bit>

namespace nf4bench::operation {
namespace {

template <class Value>
device::InputBuffer buffer_of(const std::vector<Value>& values) {
  return {.content = std::as_bytes(std::span(values))};
}

static_assert(static_cast<int>(record::Activation::kRelu2) ==
              static_cast<int>(kernels::ActivationKind::kRelu2));

const float* floats(std::byte* buffer) {
  return reinterpret_cast<const float*>(buffer);
}

std::vector<device::InputBuffer> inputs_of(const nf4::Nf4Tensor& tensor,
                                           const kernels::Problem& problem,
                                           const WorkContent& content) {
  std::vector<device::InputBuffer> inputs(kSlotWeights + 1);
  inputs[kPacked] = buffer_of(tensor.packed);
  inputs[kScales] = tensor.is_nested() ? buffer_of(tensor.absmax_codes) : buffer_of(tensor.absmax);
  inputs[kNestedAbsmax] = buffer_of(tensor.nested_absmax);
  inputs[kNestedMap] = buffer_of(tensor.nested_map);  // each layer of a checkpoint has its own
  if (tensor.is_nested()) {
    inputs[kNestedOffset] = {.content = std::as_bytes(std::span(&tensor.nested_offset, 1))};
  }
  // Activations come fresh from the layer before, unless somebody wants to know otherwise.
  const CallParts parts = parts_of(problem, content.input);
  inputs[kInput] = {.content = parts.rows, .rotates = content.rotates_input};
  inputs[kIds] = {.content = parts.ids, .rotates = content.rotates_input};
  inputs[kSlotWeights] = {.content = parts.slot_weights, .rotates = content.rotates_input};
  return inputs;
}

// What is equal is not held twice.
void add_sibling(std::vector<device::InputBuffer>& inputs,
                 const std::vector<device::InputBuffer>& sibling) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::span<const std::byte> other = sibling[i].content;
    if (!std::ranges::equal(inputs[i].content, other)) inputs[i].sibling = other;
  }
}

kernels::Job bind(kernels::Job job, std::span<std::byte* const> inputs, std::byte* output) {
  job.packed = reinterpret_cast<const std::uint8_t*>(inputs[kPacked]);
  if (job.nested) {
    job.absmax_codes = reinterpret_cast<const std::uint8_t*>(inputs[kScales]);
    job.nested_absmax = floats(inputs[kNestedAbsmax]);
    job.nested_map = floats(inputs[kNestedMap]);
    job.nested_offset = floats(inputs[kNestedOffset]);
  } else {
    job.absmax = floats(inputs[kScales]);
  }
  job.input = inputs[kInput];
  if (job.group.experts > 0) job.ids = inputs[kIds];
  if (job.group.sums_slots) job.slot_weights = inputs[kSlotWeights];
  job.output = output;
  return job;
}

// What makes jobs of the buffers of a weight with this offset.
auto binder(const kernels::Problem& problem, float nested_offset) {
  kernels::Job job;
  static_cast<kernels::Problem&>(job) = problem;
  job.nested_offset_value = nested_offset;
  return [job](std::span<std::byte* const> inputs, std::byte* output) {
    return bind(job, inputs, output);
  };
}

}  // namespace

kernels::Problem problem_of(const WeightSize& size, nf4::OutputType type) {
  kernels::Problem problem;
  problem.inputs = size.shape.empty() ? 1 : size.shape.back();
  problem.outputs = 1;
  for (std::size_t i = 0; i + 1 < size.shape.size(); ++i) problem.outputs *= size.shape[i];
  problem.elements = problem.outputs * problem.inputs;
  if (size.stack) {
    problem.group.experts = size.shape.front();
    problem.outputs /= std::max<std::int64_t>(1, problem.group.experts);
    problem.group.top_k = size.stack->top_k;
    problem.group.slots_have_rows = size.stack->part == record::StackPart::kDown;
    problem.group.sums_slots = size.stack->part != record::StackPart::kGateUp;
    problem.transposed = size.stack->transposed;
    if (size.stack->part == record::StackPart::kLayer) {
      problem.layer.activation =
          static_cast<kernels::ActivationKind>(size.stack->activation.value());
      problem.layer.columns =
          problem.outputs / (kernels::outputs_per_column(problem.layer.activation) + 1);
      problem.outputs = problem.inputs;
    } else if (problem.transposed) {
      std::swap(problem.outputs, problem.inputs);
    }
  }
  problem.blocks = nf4::block_count(problem.elements, size.blocksize);
  problem.block_shift = std::countr_zero(static_cast<unsigned>(size.blocksize));
  problem.nested = size.absmax_kind == nf4::AbsmaxKind::kNested;
  problem.output_type = type;
  return problem;
}

kernels::Problem problem_of(const nf4::Nf4Tensor& tensor, nf4::OutputType type) {
  return problem_of({tensor.shape, tensor.blocksize, tensor.absmax_kind}, type);
}

double computed_elements(const kernels::Problem& problem) {
  if (problem.tokens == 0) return static_cast<double>(problem.elements);
  return static_cast<double>(slots_of(problem)) * static_cast<double>(products_of_slot(problem));
}

std::int64_t weight_bytes(const kernels::Problem& problem) {
  constexpr std::int64_t kFloat = sizeof(float);
  const std::int64_t packed = nf4::packed_bytes(problem.elements);
  if (!problem.nested) return packed + problem.blocks * kFloat;
  const std::int64_t nested_blocks = nf4::block_count(problem.blocks, nf4::kNestedBlocksize);
  return packed + problem.blocks + (nested_blocks + nf4::kNestedMapEntries) * kFloat;
}

nf4::Nf4Tensor negated(const nf4::Nf4Tensor& tensor) {
  nf4::Nf4Tensor result = tensor;
  for (float& scale : result.absmax) scale = -scale;
  for (float& scale : result.nested_absmax) scale = -scale;
  result.nested_offset = -result.nested_offset;
  return result;
}

device::Work make_work(const Operation& operation, const WorkContent& content,
                       const kernels::Problem& problem) {
  const nf4::Nf4Tensor& tensor = content.tensor;
  device::Work work;
  work.name = tensor.name;
  work.problem = problem;
  work.inputs = inputs_of(tensor, problem, content);
  if (content.sibling != nullptr) {
    WorkContent of_sibling = content;
    if (!content.sibling_input.empty()) of_sibling.input = content.sibling_input;
    add_sibling(work.inputs, inputs_of(*content.sibling, problem, of_sibling));
    work.bind_sibling = binder(problem, content.sibling->nested_offset);
  }
  const Traffic traffic = operation.traffic(problem);
  work.output_bytes = traffic.bytes_written;
  work.touched_bytes = content.touched_bytes;
  work.prepared_bytes = content.prepared_bytes;
  // In a model the layer before is of the same kind.
  const bool stores_more = traffic.bytes_written >= traffic.bytes_read;
  work.foreign_lines = stores_more ? device::ForeignLines::kStored : device::ForeignLines::kRead;
  work.bind = binder(problem, tensor.nested_offset);
  work.judge.on_host = [judge = operation.judge, problem](std::span<const std::byte> expected,
                                                          std::span<const std::byte> actual) {
    return judge(problem, expected, actual);
  };
  work.judge.expected_bytes = operation.expected_bytes(problem.output_type);
  work.judge.on_device = operation.catalog(record::DeviceKind::kCuda).judge;
  work.judge.read_verdict = operation.read_verdict;
  return work;
}

void replace_input(device::Workload& workload, const kernels::Problem& problem,
                   std::span<const std::byte> input) {
  const CallParts parts = parts_of(problem, input);
  workload.replace_input(kInput, parts.rows);
  if (!parts.ids.empty()) workload.replace_input(kIds, parts.ids);
  if (!parts.slot_weights.empty()) workload.replace_input(kSlotWeights, parts.slot_weights);
}

device::Work dequantize_work(const nf4::Nf4Tensor& tensor, nf4::OutputType type) {
  return make_work(dequantize(), {tensor}, problem_of(tensor, type));
}

}  // namespace nf4bench::operation
