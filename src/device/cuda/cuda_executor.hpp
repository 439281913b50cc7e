#pragma once

#include "device/cuda/cuda_context.hpp"
#include "device/executor.hpp"

#include <memory>

namespace nf4bench::device {

// Calls are enqueued on the context's stream, plainly or as a captured graph, and its events time
// them. The context outlives it.
std::unique_ptr<Executor> make_cuda_executor(CudaContext& context);

}  // namespace nf4bench::device
