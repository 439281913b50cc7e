#pragma once

// A weight in device memory, and streams, as a caller of the C library has them.

#include "nf4.h"
#include "nf4/synthetic.hpp"
#include "nf4/tensor.hpp"
#include "operation/weight.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace nf4bench {

// What is filled and copied here is there on return: streams do not wait for it.
inline void fill_bytes(void* at, int value, std::size_t bytes) {
  EXPECT_EQ(cudaMemset(at, value, bytes), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  EXPECT_EQ(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

// Device memory that starts `offset` bytes behind a multiple of 256.
class DeviceBuffer {
 public:
  static constexpr std::size_t kLeast = 16;

  explicit DeviceBuffer(std::size_t bytes, std::size_t offset = kLeast)
      : offset_(offset), bytes_(bytes) {
    if (bytes == 0) return;
    EXPECT_EQ(cudaMalloc(&memory_, offset + bytes), cudaSuccess);
    fill_bytes(memory_, 0xeb, offset + bytes);
  }
  template <typename T>
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size() * sizeof(T)) {
    if (bytes_ != 0) copy_bytes(data(), values.data(), bytes_);
  }
  ~DeviceBuffer() { cudaFree(memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(memory_) + offset_; }
  template <typename T>
  T* as() const {
    return bytes_ == 0 ? nullptr : reinterpret_cast<T*>(data());
  }
  std::size_t bytes() const { return bytes_; }
  std::vector<std::byte> read() const {
    std::vector<std::byte> values(bytes_);
    copy_bytes(values.data(), data(), bytes_);
    return values;
  }

 private:
  void* memory_ = nullptr;
  std::size_t offset_;
  std::size_t bytes_;
};

class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }
  void wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

 private:
  cudaStream_t stream_ = nullptr;
};

inline kernels::DeviceFacts facts_of(const nf4_device& device) {
  return {.compute_capability = device.compute_capability,
          .multiprocessors = device.multiprocessors,
          .l2_bytes = device.l2_bytes};
}

// The weight of a tensor of two dimensions.
class Weight {
 public:
  explicit Weight(const nf4::SyntheticSpec& spec)
      : tensor(nf4::make_synthetic(spec)),
        packed_(tensor.packed),
        absmax_(tensor.absmax),
        codes_(tensor.absmax_codes),
        nested_absmax_(tensor.nested_absmax),
        nested_map_(tensor.nested_map),
        nested_offset_(std::vector<float>(tensor.is_nested() ? 1 : 0, tensor.nested_offset)) {
    c = {.struct_bytes = sizeof(nf4_weight),
         .blocksize = tensor.blocksize,
         .outputs = tensor.shape[0],
         .inputs = tensor.shape[1],
         .packed = packed_.as<std::uint8_t>(),
         .absmax = absmax_.as<float>(),
         .absmax_codes = codes_.as<std::uint8_t>(),
         .nested_absmax = nested_absmax_.as<float>(),
         .nested_map = nested_map_.as<float>(),
         .nested_offset = nested_offset_.as<float>()};
  }

  std::size_t decoded_bytes(nf4::OutputType type) const {
    return static_cast<std::size_t>(tensor.elements) * size_in_bytes(type);
  }
  kernels::Problem problem(nf4::OutputType type, std::int64_t tokens) const {
    kernels::Problem problem = operation::problem_of(tensor, type);
    problem.outputs = tensor.shape[0];
    problem.inputs = tensor.shape[1];
    problem.tokens = tokens;
    return problem;
  }

  // With the weight's buffers alone.
  kernels::Job job(const kernels::Problem& problem) const {
    kernels::Job job;
    static_cast<kernels::Problem&>(job) = problem;
    job.packed = c.packed;
    job.absmax = c.absmax;
    job.absmax_codes = c.absmax_codes;
    job.nested_absmax = c.nested_absmax;
    job.nested_map = c.nested_map;
    job.nested_offset = c.nested_offset;
    return job;
  }

  nf4::Nf4Tensor tensor;
  nf4_weight c = {};

 private:
  DeviceBuffer packed_;
  DeviceBuffer absmax_;
  DeviceBuffer codes_;
  DeviceBuffer nested_absmax_;
  DeviceBuffer nested_map_;
  DeviceBuffer nested_offset_;
};

// The first CUDA device; tests are skipped without one.
class Libnf4Gpu : public testing::Test {
 protected:
  void SetUp() override {
    device_.struct_bytes = sizeof(device_);
    if (nf4_query_device(NF4_CUDA, 0, &device_) == NF4_OK) {
      EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
      return;
    }
    if (std::getenv("NF4BENCH_REQUIRE_GPU") != nullptr) FAIL() << "no CUDA device";
    GTEST_SKIP() << "no CUDA device";
  }

  nf4_device device_ = {};
};

}  // namespace nf4bench
