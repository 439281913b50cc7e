#pragma once

// What the library needs to know of a kind of device.

#include "nf4.h"
#include "own.hpp"

namespace nf4bench::lib {

struct Backend {
  const kernels::OwnKernels& (*kernels)();
  // Fills what struct_bytes, kind and ordinal leave.
  nf4_status (*query)(std::int32_t ordinal, nf4_device& device);
  // The device that the calling thread uses now, all of it.
  nf4_status (*current)(nf4_device& device);
  // `device`, whose numbers may be any, as kernels take it, if it is one that can be.
  nf4_status (*read)(const nf4_device& device, kernels::DeviceFacts& facts);
  // Whether this thread may launch work on `stream` of it now.
  nf4_status (*admit)(const nf4_device& device, void* stream);
  // What has become of the launches that this thread just made.
  nf4_status (*result)();
};

const Backend& cpu_backend();
const Backend* cuda_backend();  // null in builds without CUDA

inline bool is_kind(std::int32_t kind) {
  return kind == NF4_CPU || kind == NF4_CUDA;
}

// Of an nf4_device_kind; null where this build has none.
inline const Backend* backend_of(std::int32_t kind) {
  return kind == NF4_CPU ? &cpu_backend() : cuda_backend();
}

}  // namespace nf4bench::lib
