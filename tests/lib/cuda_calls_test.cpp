// What libnf4 asks of CUDA, on a runtime that only takes notes: no GPU and no driver is needed.
// What an executable defines the linker takes from there and not from a library.

#include "nf4.h"
#include "nf4bench_peer.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

// One launch, as far as callers can tell two apart.
struct Launched {
  const void* kernel = nullptr;
  unsigned blocks = 0;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;

  bool operator==(const Launched&) const = default;
};

struct Notes {
  std::vector<std::string> calls;
  std::vector<Launched> launches;
  int current = 0;
  cudaError_t device_count = cudaSuccess;
  cudaError_t get_device = cudaSuccess;
  cudaError_t launch = cudaSuccess;
  cudaError_t last = cudaSuccess;
};

Notes notes;

cudaError_t note(const char* call, cudaError_t result = cudaSuccess) {
  notes.calls.emplace_back(call);
  if (result != cudaSuccess) notes.last = result;
  return result;
}

CUresult encode(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 2;
  return note("cudaGetDeviceCount", notes.device_count);
}
cudaError_t cudaGetDevice(int* device) {
  *device = notes.current;
  return note("cudaGetDevice", notes.get_device);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = 132;
      break;
    default:
      *value = 0;
  }
  return note("cudaDeviceGetAttribute");
}
cudaError_t cudaGetLastError() {
  note("cudaGetLastError");
  return std::exchange(notes.last, cudaSuccess);
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return note("cudaFuncSetAttribute");
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult*) {
  *function = reinterpret_cast<void*>(encode);
  return note("cudaGetDriverEntryPointByVersion");
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void**) {
  notes.launches.push_back(
      {kernel, config->gridDim.x, config->blockDim.x, config->dynamicSmemBytes, config->stream});
  return note("cudaLaunchKernelExC", notes.launch);
}

// What nvcc's code calls before main() and for <<<>>>, in any version.
char __cudaInitModule(void**) {
  return 0;
}
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, void*) {
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) {
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) {
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return note("cudaLaunchKernel");
}
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return note("__cudaLaunchKernel");
}
}

namespace nf4bench::test {
namespace {

// Pointers that nobody follows.
template <typename T>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address << 12);
}

class Libnf4CudaCalls : public testing::Test {
 protected:
  void SetUp() override {
    notes = {};
    device_.struct_bytes = sizeof(device_);
    ASSERT_EQ(nf4_query_device(NF4_CUDA, 1, &device_), NF4_OK);
    notes = {.calls = {}, .launches = {}, .current = 1};
  }

  nf4_product product(std::int64_t tokens) const {
    nf4_product product = {.struct_bytes = sizeof(nf4_product),
                           .type = NF4_BFLOAT16,
                           .tokens = tokens,
                           .input = at<void>(10),
                           .bias = nullptr,
                           .output = at<void>(11),
                           .workspace = at<void>(12),
                           .workspace_bytes = 0,
                           .output_stride = 0};
    EXPECT_EQ(nf4_linear_workspace(&device_, &weight_, &product, &product.workspace_bytes), NF4_OK);
    return product;
  }

  nf4bench_peer_job job(std::int32_t operation, std::int64_t tokens) const {
    nf4bench_peer_job job = {};
    job.struct_bytes = sizeof(job);
    job.operation = operation;
    job.output_type = NF4BENCH_PEER_BFLOAT16;
    job.packed = weight_.packed;
    job.absmax = weight_.absmax;
    job.block_shift = 6;
    job.elements = weight_.outputs * weight_.inputs;
    job.blocks = job.elements / 64;
    job.outputs = weight_.outputs;
    job.inputs = weight_.inputs;
    job.tokens = tokens;
    job.input = at<void>(10);
    job.output = at<void>(11);
    job.workspace = at<void>(12);
    return job;
  }

  nf4_status dequantize() const {
    return nf4_dequantize(&device_, &weight_, NF4_BFLOAT16, at<void>(11), stream_);
  }
  nf4_status linear(std::int64_t tokens) const {
    const nf4_product given = product(tokens);
    return nf4_linear(&device_, &weight_, &given, stream_);
  }

  nf4_device device_ = {};
  nf4_weight weight_ = {.struct_bytes = sizeof(nf4_weight),
                        .blocksize = 64,
                        .outputs = 4096,
                        .inputs = 4096,
                        .packed = at<std::uint8_t>(1),
                        .absmax = at<float>(2),
                        .absmax_codes = nullptr,
                        .nested_absmax = nullptr,
                        .nested_map = nullptr,
                        .nested_offset = nullptr};
  cudaStream_t stream_ = at<CUstream_st>(20);
};

using Calls = std::vector<std::string>;

TEST_F(Libnf4CudaCalls, DescribeTheDevice) {
  EXPECT_EQ(device_.kind, NF4_CUDA);
  EXPECT_EQ(device_.ordinal, 1);
  EXPECT_EQ(device_.compute_capability, 90);
  EXPECT_EQ(device_.multiprocessors, 132);
  EXPECT_EQ(nf4_query_device(NF4_CUDA, 2, &device_), NF4_NO_DEVICE);
}

TEST_F(Libnf4CudaCalls, AnOlderArchitectureStandsInForTheCard) {
  const auto queried = [](const char* told) {
    setenv("NF4_COMPUTE_CAPABILITY", told, 1);
    nf4_device device = {};
    device.struct_bytes = sizeof(device);
    EXPECT_EQ(nf4_query_device(NF4_CUDA, 1, &device), NF4_OK);
    unsetenv("NF4_COMPUTE_CAPABILITY");
    return device.compute_capability;
  };
  EXPECT_EQ(queried("75"), 75);
  EXPECT_EQ(queried("86"), 86);
  for (const char* none : {"", "74", "91", "later"}) EXPECT_EQ(queried(none), 90) << none;
}

TEST_F(Libnf4CudaCalls, OfDequantizeAreALaunchAndTwoQuestions) {
  ASSERT_EQ(dequantize(), NF4_OK);
  EXPECT_EQ(notes.calls, (Calls{"cudaGetDevice", "cudaLaunchKernelExC", "cudaGetLastError"}));
  ASSERT_EQ(notes.launches.size(), 1u);
  EXPECT_EQ(notes.launches[0].stream, stream_);
}

TEST_F(Libnf4CudaCalls, OfLinearLookForTheDriversFunctionOnce) {
  for (const std::int64_t tokens : {1, 8, 64}) ASSERT_EQ(linear(tokens), NF4_OK);
  notes.calls.clear();
  notes.launches.clear();
  ASSERT_EQ(linear(1), NF4_OK);
  EXPECT_EQ(notes.calls, (Calls{"cudaGetDevice", "cudaFuncSetAttribute", "cudaLaunchKernelExC",
                                "cudaGetLastError"}));
  notes.calls.clear();
  ASSERT_EQ(linear(64), NF4_OK);
  EXPECT_EQ(notes.calls, (Calls{"cudaGetDevice", "cudaFuncSetAttribute", "cudaLaunchKernelExC",
                                "cudaGetLastError"}));
  for (const Launched& each : notes.launches) EXPECT_EQ(each.stream, stream_);
}

// So that results are the same as well; only kernels that count rows in 32 bits give way.
TEST_F(Libnf4CudaCalls, OfLinearAreTheSameWhereRowsOfTheOutputHaveGaps) {
  const auto launched = [&](nf4_product given, std::int64_t stride) {
    given.output_stride = stride;
    EXPECT_EQ(nf4_linear_workspace(&device_, &weight_, &given, &given.workspace_bytes), NF4_OK);
    EXPECT_EQ(nf4_linear(&device_, &weight_, &given, stream_), NF4_OK);
    return std::exchange(notes.launches, {});
  };
  for (const std::int64_t tokens : {1, 3, 16, 100, 512}) {
    const nf4_product given = product(tokens);
    const std::vector<Launched> expected = launched(given, 0);
    EXPECT_EQ(launched(given, 4096), expected) << tokens;
    EXPECT_EQ(launched(given, 6144), expected) << tokens;
    EXPECT_EQ(launched(given, 4097), expected) << tokens;
    EXPECT_NE(launched(given, std::int64_t{1} << 31), expected) << tokens;
  }
}

TEST_F(Libnf4CudaCalls, AreNotMadeForAnotherDevice) {
  notes.current = 0;
  EXPECT_EQ(dequantize(), NF4_INVALID_ARGUMENT);
  EXPECT_EQ(linear(3), NF4_INVALID_ARGUMENT);
  EXPECT_TRUE(notes.launches.empty());
}

TEST_F(Libnf4CudaCalls, ThatFailAreSaidOnce) {
  notes.launch = cudaErrorInvalidResourceHandle;
  EXPECT_EQ(dequantize(), NF4_LAUNCH_FAILED);
  EXPECT_EQ(linear(5), NF4_LAUNCH_FAILED);
  notes.launch = cudaSuccess;
  EXPECT_EQ(dequantize(), NF4_OK);
  notes.get_device = cudaErrorInsufficientDriver;
  EXPECT_EQ(dequantize(), NF4_NO_DEVICE);
  notes.get_device = cudaSuccess;
  EXPECT_EQ(dequantize(), NF4_OK);
  notes.device_count = cudaErrorNoDevice;
  EXPECT_EQ(nf4_query_device(NF4_CUDA, 0, &device_), NF4_NO_DEVICE);
  notes.device_count = cudaSuccess;
  EXPECT_EQ(dequantize(), NF4_OK);
}

// What nf4bench measures is what callers get.
TEST_F(Libnf4CudaCalls, OfThePeerAreTheSame) {
  const nf4bench_peer_table* const table = nf4bench_peer_v2();
  ASSERT_EQ(table->variant_count, 4u);
  const nf4bench_peer_device device = {.struct_bytes = sizeof(nf4bench_peer_device),
                                       .kind = NF4BENCH_PEER_CUDA,
                                       .compute_capability = 90,
                                       .multiprocessors = 132,
                                       .l2_bytes = 0};
  int variants = 0;
  for (std::uint32_t i = 0; i < table->variant_count; ++i) {
    const nf4bench_peer_variant& variant = table->variants[i];
    if (variant.device != NF4BENCH_PEER_CUDA) continue;
    ++variants;
    const bool is_matmul = variant.operation == NF4BENCH_PEER_MATMUL;
    for (const std::int64_t tokens : {1, 3, 16, 100}) {
      const nf4bench_peer_job given = job(variant.operation, tokens);
      EXPECT_EQ(variant.unsupported(&given, &device), nullptr);
      if (is_matmul) {
        EXPECT_GE(variant.workspace_bytes(&given), product(tokens).workspace_bytes);
      }
      ASSERT_EQ(is_matmul ? linear(tokens) : dequantize(), NF4_OK);
      const std::vector<Launched> expected = std::exchange(notes.launches, {});
      ASSERT_EQ(variant.launch(&given, stream_), 0);
      EXPECT_EQ(std::exchange(notes.launches, {}), expected);
    }
  }
  EXPECT_EQ(variants, 2);
}

TEST_F(Libnf4CudaCalls, OfThePeerSayWhyTheyFail) {
  const nf4bench_peer_variant& dequantize = nf4bench_peer_v2()->variants[2];
  const nf4bench_peer_job given = job(NF4BENCH_PEER_DEQUANTIZE, 0);
  notes.launch = cudaErrorInvalidValue;
  EXPECT_EQ(dequantize.launch(&given, stream_), NF4_LAUNCH_FAILED);
  EXPECT_STREQ(nf4bench_peer_v2()->error_text(), nf4_error_string(NF4_LAUNCH_FAILED));
  nf4bench_peer_job earlier = given;
  earlier.struct_bytes = offsetof(nf4bench_peer_job, nested_offset_at);
  earlier.nested = 1;
  const nf4bench_peer_device device = {};
  EXPECT_STREQ(dequantize.unsupported(&earlier, &device),
               "needs an nf4bench that says where memory holds the nested offset");
}

}  // namespace
}  // namespace nf4bench::test
