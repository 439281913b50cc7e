#include "nf4.h"

#include "plan.hpp"

#include <cstring>

namespace nf4bench::lib {
namespace {

// Of the library. The major number is the header's and the SONAME's.
constexpr std::uint32_t kVersion = 10000 * NF4_VERSION_MAJOR + 100 * NF4_VERSION_MINOR + 0;

// No exception leaves a C function. In steady state there is none.
template <class Body>
nf4_status guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (...) {
    return NF4_LAUNCH_FAILED;
  }
}

nf4_status launch(const Plan& plan, const nf4_device& device, void* stream) {
  const Target& target = plan.target;
  const nf4_status status = target.backend->admit(device, stream);
  if (status != NF4_OK) return status;
  plan.variant->launch(plan.job,
                       {.stream = static_cast<CUstream_st*>(stream), .device = target.facts});
  return target.backend->result();
}

nf4_status launch(LayerPlan& plan, const nf4_device& device, void* stream) {
  const Target& target = plan.target;
  const nf4_status status = target.backend->admit(device, stream);
  if (status != NF4_OK) return status;
  plan.layer.launch(plan.layer.up.workspace, target.backend->kernels().activate,
                    {.stream = static_cast<CUstream_st*>(stream), .device = target.facts});
  return target.backend->result();
}

nf4_status query(std::int32_t kind, std::int32_t ordinal, nf4_device* device) {
  if (!is_struct(device, sizeof(*device)) || !is_kind(kind)) return NF4_INVALID_ARGUMENT;
  const Backend* const backend = backend_of(kind);
  if (backend == nullptr) return NF4_UNSUPPORTED;
  nf4_device known = {};
  known.struct_bytes = device->struct_bytes;
  known.kind = kind;
  known.ordinal = ordinal;
  const nf4_status status = backend->query(ordinal, known);
  if (status != NF4_OK) return status;
  std::memset(device, 0, known.struct_bytes);
  *device = known;
  return NF4_OK;
}

}  // namespace
}  // namespace nf4bench::lib

using namespace nf4bench;

const char* nf4_error_string(std::int32_t status) {
  switch (status) {
    case NF4_OK:
      return "no error";
    case NF4_INVALID_ARGUMENT:
      return "invalid argument: a null pointer, struct_bytes that were not set, a size, a stride, "
             "a "
             "blocksize or an enumerator that cannot be, or a CUDA device that is not current; see "
             "nf4.h";
    case NF4_UNSUPPORTED:
      return "unsupported: no kernel of this build of libnf4 does that on this device";
    case NF4_MISALIGNED:
      return "misaligned: buffers start at multiples of 16 bytes, the workspace at one of 256";
    case NF4_WORKSPACE_TOO_SMALL:
      return "workspace too small: nf4_linear_workspace(), or what asks so for the function that "
             "was called, says how many bytes are needed";
    case NF4_NO_DEVICE:
      return "no such device, or a driver that is older than this build needs";
    case NF4_LAUNCH_FAILED:
      return "the host has no memory left, or CUDA refused a launch: is the stream of the device, "
             "the device described as nf4_query_device() does, and has no earlier call failed?";
    default:
      return "not an nf4_status";
  }
}

std::uint32_t nf4_version(void) {
  return lib::kVersion;
}

nf4_status nf4_query_device(std::int32_t kind, std::int32_t ordinal, nf4_device* device) {
  return lib::guarded([=] { return lib::query(kind, ordinal, device); });
}

nf4_status nf4_dequantize(const nf4_device* device, const nf4_weight* weight, std::int32_t type,
                          void* output, void* stream) {
  return lib::guarded([=] {
    lib::Plan plan;
    nf4_status status = lib::plan_dequantize(device, weight, type, plan);
    if (status == NF4_OK) status = lib::read_buffers(*weight, plan.job);
    if (status == NF4_OK) status = lib::check_buffers({output});
    if (status != NF4_OK) return status;
    plan.job.output = output;
    return lib::launch(plan, *device, stream);
  });
}

nf4_status nf4_linear_workspace(const nf4_device* device, const nf4_weight* weight,
                                const nf4_product* product, std::size_t* bytes) {
  return lib::guarded([=] {
    if (bytes == nullptr) return NF4_INVALID_ARGUMENT;
    lib::Plan plan;
    const nf4_status status = lib::plan_linear(device, weight, product, plan);
    if (status == NF4_OK) *bytes = plan.workspace_bytes;
    return status;
  });
}

nf4_status nf4_linear(const nf4_device* device, const nf4_weight* weight,
                      const nf4_product* product, void* stream) {
  return lib::guarded([=] {
    lib::Plan plan;
    nf4_status status = lib::plan_linear(device, weight, product, plan);
    if (status == NF4_OK) status = lib::read_buffers(*weight, plan.job);
    if (status == NF4_OK) status = lib::read_buffers(*product, plan.workspace_bytes, plan.job);
    return status == NF4_OK ? lib::launch(plan, *device, stream) : status;
  });
}

nf4_status nf4_grouped_linear_workspace(const nf4_device* device, const nf4_stack* stack,
                                        const nf4_routing* routing, const nf4_product* product,
                                        std::size_t* bytes) {
  return lib::guarded([=] {
    if (bytes == nullptr) return NF4_INVALID_ARGUMENT;
    lib::Plan plan;
    const nf4_status status = lib::plan_grouped(device, stack, routing, product, plan);
    if (status == NF4_OK) *bytes = plan.workspace_bytes;
    return status;
  });
}

nf4_status nf4_grouped_linear(const nf4_device* device, const nf4_stack* stack,
                              const nf4_routing* routing, const nf4_product* product,
                              void* stream) {
  return lib::guarded([=] {
    lib::Plan plan;
    nf4_status status = lib::plan_grouped(device, stack, routing, product, plan);
    if (status == NF4_OK) {
      status = lib::read_buffers(*stack, *routing, *product, plan.workspace_bytes, plan.job);
    }
    return status == NF4_OK ? lib::launch(plan, *device, stream) : status;
  });
}

nf4_status nf4_experts_workspace(const nf4_device* device, const nf4_stack* up,
                                 const nf4_stack* down, const nf4_routing* routing,
                                 const nf4_experts_options* options, const nf4_product* product,
                                 std::size_t* bytes) {
  return lib::guarded([=] {
    if (bytes == nullptr) return NF4_INVALID_ARGUMENT;
    lib::LayerPlan plan;
    const nf4_status status = lib::plan_experts(device, up, down, routing, options, product, plan);
    if (status == NF4_OK) *bytes = plan.workspace_bytes;
    return status;
  });
}

nf4_status nf4_experts(const nf4_device* device, const nf4_stack* up, const nf4_stack* down,
                       const nf4_routing* routing, const nf4_experts_options* options,
                       const nf4_product* product, void* stream) {
  return lib::guarded([=] {
    lib::LayerPlan plan;
    nf4_status status = lib::plan_experts(device, up, down, routing, options, product, plan);
    const std::size_t bytes = plan.workspace_bytes;
    if (status == NF4_OK) {
      status = lib::read_buffers(*up, *routing, *product, bytes, plan.layer.up);
    }
    if (status == NF4_OK) {
      status = lib::read_buffers(*down, *routing, *product, bytes, plan.layer.down);
    }
    return status == NF4_OK ? lib::launch(plan, *device, stream) : status;
  });
}

std::int64_t nf4_linear_most_tokens(const nf4_device* device, const nf4_weight* weight,
                                    std::int32_t type) {
  std::int64_t most = 0;
  lib::guarded([&, device, weight, type] {
    lib::Target target;
    kernels::Problem problem;
    nf4_status status = lib::read_device(device, target);
    if (status == NF4_OK) status = lib::read_sizes(weight, type, problem);
    if (status == NF4_OK) most = target.backend->kernels().most_tokens(problem, target.facts);
    return status;
  });
  return most;
}
