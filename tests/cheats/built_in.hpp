// A built-in variant as a source file, of the CPU or for CUDA: what is no cheat must not be taken
// for one.
#pragma once

#include "nf4bench_peer.h"
#include "variant.hpp"

#include <thread>

namespace nf4bench::kernels {

inline Job job_of(const nf4bench_peer_job& given) {
  Job job;
  job.elements = given.elements;
  job.blocks = given.blocks;
  job.block_shift = given.block_shift;
  job.nested = given.nested != 0;
  job.outputs = given.outputs;
  job.inputs = given.inputs;
  job.tokens = given.tokens;
  job.output_type = static_cast<OutputType>(given.output_type);
  job.packed = given.packed;
  job.absmax = given.absmax;
  job.absmax_codes = given.absmax_codes;
  job.nested_absmax = given.nested_absmax;
  job.nested_map = given.nested_map;
  job.nested_offset = given.nested_offset_at;
  job.nested_offset_value = given.nested_offset;
  job.input = given.input;
  job.output = given.output;
  job.workspace = given.workspace;
  return job;
}

#ifdef __CUDACC__

#define NF4BENCH_BUILT_IN_DEVICE NF4BENCH_PEER_CUDA
namespace built_in = cuda;

inline int attribute_of(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, attribute, device);
  return value;
}

// Asked for once: it must not take part in what is timed.
inline Launch usual_launch() {
  static const DeviceFacts facts = [] {
    DeviceFacts device;
    device.compute_capability = attribute_of(cudaDevAttrComputeCapabilityMajor) * 10 +
                                attribute_of(cudaDevAttrComputeCapabilityMinor);
    device.multiprocessors = attribute_of(cudaDevAttrMultiProcessorCount);
    device.l2_bytes = attribute_of(cudaDevAttrL2CacheSize);
    return device;
  }();
  Launch launch;
  launch.device = facts;
  return launch;
}

inline int last_error() {
  return cudaGetLastError();
}

#else

#define NF4BENCH_BUILT_IN_DEVICE NF4BENCH_PEER_CPU
namespace built_in = cpu;

inline Launch usual_launch() {
  Launch launch;
  launch.device.multiprocessors = static_cast<int>(std::thread::hardware_concurrency());
  return launch;
}

inline int last_error() {
  return 0;
}

#endif

inline Launch launch_on(void* stream) {
  Launch launch = usual_launch();
  launch.stream = static_cast<CUstream_st*>(stream);
  return launch;
}

}  // namespace nf4bench::kernels

#define NF4BENCH_BUILT_IN(operation, function)                                                \
  using nf4bench::kernels::Variant;                                                           \
  static const Variant& variant() {                                                           \
    static const Variant made = nf4bench::kernels::built_in::function();                      \
    return made;                                                                              \
  }                                                                                           \
  static int launch(const nf4bench_peer_job* job, void* stream) {                             \
    variant().launch(nf4bench::kernels::job_of(*job), nf4bench::kernels::launch_on(stream));  \
    return nf4bench::kernels::last_error();                                                   \
  }                                                                                           \
  static const char* unsupported(const nf4bench_peer_job* job, const nf4bench_peer_device*) { \
    return nf4bench::kernels::why_unsupported(variant(), nf4bench::kernels::job_of(*job),     \
                                              nf4bench::kernels::usual_launch().device);      \
  }                                                                                           \
  static std::size_t workspace(const nf4bench_peer_job* job) {                                \
    return static_cast<std::size_t>(nf4bench::kernels::workspace_of(                          \
        variant(), nf4bench::kernels::job_of(*job), nf4bench::kernels::usual_launch()));      \
  }                                                                                           \
  extern "C" NF4BENCH_PEER_EXPORT const nf4bench_peer_table* nf4bench_peer_v2(void) {         \
    static const nf4bench_peer_variant offered = {                                            \
        "", "", operation, NF4BENCH_BUILT_IN_DEVICE, 1, 0, unsupported, workspace, launch};   \
    static const nf4bench_peer_table table = {NF4BENCH_PEER_ABI,                              \
                                              sizeof(nf4bench_peer_variant),                  \
                                              1,                                              \
                                              sizeof(nf4bench_peer_table),                    \
                                              &offered,                                       \
                                              nullptr};                                       \
    return &table;                                                                            \
  }
