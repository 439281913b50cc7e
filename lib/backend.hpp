#pragma once

// What the library needs to know of a kind of device.

#include "nf4.h"
#include "own.hpp"

namespace nf4bench::lib {

struct Backend {
  const kernels::OwnKernels& (*kernels)();
  // Fills all of `device` but struct_bytes and kind.
  nf4_status (*query)(std::int32_t ordinal, nf4_device& device);
  // The device that the calling thread uses now, all of it.
  nf4_status (*current)(nf4_device& device);
  // Whether `device`, whose numbers may be any, is one that can be.
  nf4_status (*check)(const nf4_device& device);
  // Whether this thread may launch work on `stream` of it now.
  nf4_status (*admit)(const nf4_device& device, void* stream);
  // What has become of the launches that this thread just made.
  nf4_status (*result)();
};

const Backend& cpu_backend();
const Backend* cuda_backend();  // null in builds without CUDA

}  // namespace nf4bench::lib
