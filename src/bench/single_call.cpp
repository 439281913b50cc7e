#include "bench/single_call.hpp"

#include "base/error.hpp"
#include "operation/weight.hpp"
#include "plan/problems.hpp"

#include <cstddef>
#include <vector>

namespace nf4bench::bench {
namespace {

// One set of buffers serves hot and cold calls alike: what a call finds in the caches is up to the
// profiler.
void call_on(device::Device& device, const OperationPlan& plan, const nf4::Nf4Tensor& tensor,
             const kernels::Problem& problem) {
  const std::vector<std::byte> input = operation::call_input(plan.operation, problem, plan.options);
  const auto workload = device.upload(
      operation::make_work(plan.operation, {.tensor = tensor, .input = input}, problem),
      device::UploadPurpose::kTimeHot);
  for (const plan::SelectedVariant& each : plan.variants) {
    if (!workload->unsupported(each.variant).empty()) continue;
    workload->profile(each.variant);
  }
}

}  // namespace

void make_single_call(RunPlan& plan) {
  const OperationPlan& operation = plan.operations.front();
  const auto number = static_cast<std::size_t>(plan.options.single_call);
  if (number > operation.tensors.size()) {
    throw Error(ErrorKind::kUsage, "single_call: there is no tensor of this number");
  }
  const plan::TensorSource& source = operation.tensors[number - 1].source;
  const nf4::Nf4Tensor tensor = source.load();
  for (const kernels::Problem& problem :
       plan::problems_of(operation.operation, source, operation.options)) {
    call_on(*plan.device, operation, tensor, problem);
  }
}

}  // namespace nf4bench::bench
