#pragma once

// What a caller hands over, checked and as kernels take it. Nothing here looks at the memory behind
// buffers.

#include "backend.hpp"

#include <cstddef>
#include <initializer_list>

namespace nf4bench::lib {

// Whether `given` is there and says that it has at least the `known` bytes of ours, and not more
// than a struct can have.
bool is_struct(const void* given, std::uint32_t known);

// A device as the library works with it.
struct Target {
  const Backend* backend = nullptr;
  kernels::DeviceFacts facts;
};

nf4_status read_device(const nf4_device* given, Target& target);

// The sizes of a weight that is decoded to `type`, an nf4_type.
nf4_status read_sizes(const nf4_weight* given, std::int32_t type, kernels::Problem& problem);

// The sizes of a product with it.
nf4_status read_sizes(const nf4_weight* weight, const nf4_product* product,
                      kernels::Problem& problem);

// The sizes of a product with a stack.
nf4_status read_sizes(const nf4_stack* stack, const nf4_routing* routing,
                      const nf4_product* product, kernels::Problem& problem);

// What stands between an expert's products, but for buffers and rows; `outputs` of the first.
nf4_status read_activation(const nf4_experts_options* given, std::int64_t outputs,
                           kernels::Activation& activation);

// The buffers, of sizes that have been read. `needed`: bytes of workspace.
nf4_status read_buffers(const nf4_weight& given, kernels::Job& job);
nf4_status read_buffers(const nf4_product& given, std::size_t needed, kernels::Job& job);

nf4_status read_buffers(const nf4_stack& stack, const nf4_routing& routing,
                        const nf4_product& product, std::size_t needed, kernels::Job& job);

// Whether all of them are there and aligned.
nf4_status check_buffers(std::initializer_list<const void*> buffers);

}  // namespace nf4bench::lib
