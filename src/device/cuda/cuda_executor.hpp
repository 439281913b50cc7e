#pragma once

#include "device/cuda/cuda_resources.hpp"
#include "device/executor.hpp"
#include "device/memory.hpp"

#include <memory>

namespace nf4bench::device {

// Calls are enqueued on the context's stream, plainly or as a captured graph, and its events time
// them; or they are another process's. The context outlives it, and so does the memory that
// outputs of such calls are copied to.
std::unique_ptr<Executor> make_cuda_executor(CudaContext& context, Memory& memory);

}  // namespace nf4bench::device
