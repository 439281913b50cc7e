#pragma once

// Owners of CUDA objects, and the one place where CUDA errors become exceptions. Host compiler
// only.

#include "cuda/device_tools.hpp"
#include "device/cuda/cuda_problem.hpp"
#include "record/device_info.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace nf4bench::device {

// Throws Error(kDevice) with what was tried and CUDA's name and text, unless `status` is success.
// Clears the error where it is not sticky.
void check_cuda(cudaError_t status, const char* what);

// What CUDA itself says of an error.
CudaProblem problem_of(cudaError_t status);

// `bytes`, at least one, of the current device's memory, for cudaFree() to release. Throws
// Error(kDevice) with needed and free bytes.
void* allocate_device_memory(std::int64_t bytes);

// How many bytes of L2 persisting lines may take from all others; 0 where there are no such lines.
std::size_t l2_set_aside();

// Sets that back to `bytes`; true if it was anything else.
bool restore_l2_set_aside(std::size_t bytes);

// Device memory; released quietly.
class CudaBuffer {
 public:
  CudaBuffer() = default;
  explicit CudaBuffer(std::int64_t bytes)
      : memory_(bytes == 0 ? nullptr : static_cast<std::uint8_t*>(allocate_device_memory(bytes))),
        bytes_(bytes) {}

  std::uint8_t* data() const { return memory_.get(); }
  std::int64_t bytes() const { return bytes_; }

  // Leaves it to somebody else to free it.
  void release() { static_cast<void>(memory_.release()); }

 private:
  struct Free {
    void operator()(std::uint8_t* pointer) const { cudaFree(pointer); }
  };
  std::unique_ptr<std::uint8_t, Free> memory_;
  std::int64_t bytes_ = 0;
};

// Page-locked host memory that kernels write to directly.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes);
  void* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(void* pointer) const { cudaFreeHost(pointer); }
  };
  std::unique_ptr<void, Free> memory_;
};

class CudaStream {
 public:
  CudaStream();
  cudaStream_t get() const { return stream_.get(); }
  void synchronize() const { check_cuda(cudaStreamSynchronize(get()), "wait for the stream"); }

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  };
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

class CudaEvent {
 public:
  CudaEvent();
  cudaEvent_t get() const { return event_.get(); }

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

// Seconds between two recorded events that have completed.
double seconds_between(const CudaEvent& start, const CudaEvent& stop);

// Until all that was begun on the device is done, on whoever's streams.
void wait_for_device();

// An instantiated graph, captured from what `record` enqueues on `stream`.
class CudaGraph {
 public:
  template <class Record>
  CudaGraph(const CudaStream& stream, Record record) {
    begin_capture(stream);
    try {
      record();
    } catch (...) {
      abandon_capture(stream);
      throw;
    }
    end_capture(stream);
  }

  void launch(const CudaStream& stream) const {
    check_cuda(cudaGraphLaunch(graph_.get(), stream.get()), "launch a graph");
  }

 private:
  void begin_capture(const CudaStream& stream);
  static void abandon_capture(const CudaStream& stream);
  void end_capture(const CudaStream& stream);

  struct Destroy {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };
  std::unique_ptr<CUgraphExec_st, Destroy> graph_;
};

// What all work on one device shares.
struct CudaContext {
  record::DeviceInfo info;
  std::string config;      // Launch::config; empty for none
  int caches_rotated = 1;  // cold samples: the sets of a rotation, in last-level caches
  CudaStream stream;
  CudaEvent start;
  CudaEvent stop;
  PinnedBuffer stamps;  // two cuda::ClockStamp a multiprocessor
  CudaBuffer spacer_output;
  CudaBuffer foreign;  // twice as much as L2 holds, of no use but to lie there
  std::size_t l2_set_aside = device::l2_set_aside();  // as it was when the device was opened

  explicit CudaContext(record::DeviceInfo device)
      : info(std::move(device)),
        stamps(sizeof(kernels::cuda::ClockStamp) * 2 *
               static_cast<std::size_t>(info.multiprocessors)),
        spacer_output(kernels::cuda::spacer_output_bytes(info.multiprocessors)),
        foreign(2 * info.l2_bytes) {}
};

}  // namespace nf4bench::device
