// What a call of libnf4 takes on the host, beside the calls of CUDA that it is made of. Prints
// nanoseconds; fails only where a call takes so long that it must have waited for something.

#include "nf4.h"

#include <cuda.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace nf4bench {
namespace {

__global__ void nothing() {}

// The median over batches whose kernels the queue has room for.
template <class Call>
double nanoseconds(const char* what, Call call) {
  constexpr int kCalls = 200;
  std::vector<double> batches;
  for (int batch = 0; batch < 21; ++batch) {
    cudaDeviceSynchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - start;
    batches.push_back(elapsed.count() / kCalls);
  }
  cudaDeviceSynchronize();
  std::nth_element(batches.begin(), batches.begin() + 10, batches.end());
  std::printf("%-58s %8.0f ns\n", what, batches[10]);
  return batches[10];
}

struct Buffers {
  void* input = nullptr;
  void* output = nullptr;
  void* workspace = nullptr;
  nf4_weight weight = {};
};

Buffers make_buffers(std::int64_t outputs, std::int64_t inputs) {
  Buffers all;
  void* packed = nullptr;
  void* absmax = nullptr;
  const auto elements = static_cast<std::size_t>(outputs * inputs);
  cudaMalloc(&packed, elements / 2);
  cudaMalloc(&absmax, elements / 16);
  cudaMalloc(&all.input, static_cast<std::size_t>(inputs) * 512 * 2);
  cudaMalloc(&all.output, elements * 2 + static_cast<std::size_t>(outputs) * 512 * 2);
  cudaMalloc(&all.workspace, std::size_t{256} << 20);
  cudaMemset(packed, 0, elements / 2);
  cudaMemset(absmax, 0, elements / 16);
  all.weight.struct_bytes = sizeof(nf4_weight);
  all.weight.blocksize = 64;
  all.weight.outputs = outputs;
  all.weight.inputs = inputs;
  all.weight.packed = static_cast<std::uint8_t*>(packed);
  all.weight.absmax = static_cast<float*>(absmax);
  return all;
}

void release(const Buffers& all) {
  for (const void* each :
       {static_cast<const void*>(all.input), static_cast<const void*>(all.output),
        static_cast<const void*>(all.workspace), static_cast<const void*>(all.weight.packed),
        static_cast<const void*>(all.weight.absmax)}) {
    cudaFree(const_cast<void*>(each));
  }
}

TEST(Libnf4HostTime, OfACall) {
  nf4_device device = {};
  device.struct_bytes = sizeof(device);
  if (nf4_query_device(NF4_CUDA, 0, &device) != NF4_OK) {
    if (std::getenv("NF4BENCH_REQUIRE_GPU") != nullptr) FAIL() << "no CUDA device";
    GTEST_SKIP() << "no CUDA device";
  }
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  nanoseconds("an empty kernel, <<<>>>", [&] { nothing<<<1, 32, 0, stream>>>(); });
  nanoseconds("cudaFuncSetAttribute", [&] {
    cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  });
  int current = 0;
  nanoseconds("cudaGetDevice", [&] { cudaGetDevice(&current); });
  constexpr double kMost = 50e3;
  for (const auto& shape : {std::pair<int, int>{4096, 4096}, {28672, 8192}, {128256, 4096}}) {
    const Buffers all = make_buffers(shape.first, shape.second);
    char what[100];
    std::snprintf(what, sizeof(what), "nf4_dequantize %dx%d", shape.first, shape.second);
    EXPECT_LT(
        nanoseconds(
            what, [&] { nf4_dequantize(&device, &all.weight, NF4_BFLOAT16, all.output, stream); }),
        kMost);
    for (const int tokens : {1, 4, 8, 16, 64, 512}) {
      nf4_product product = {};
      product.struct_bytes = sizeof(product);
      product.type = NF4_BFLOAT16;
      product.tokens = tokens;
      product.input = all.input;
      product.output = all.output;
      product.workspace = all.workspace;
      product.workspace_bytes = std::size_t{256} << 20;
      std::snprintf(what, sizeof(what), "nf4_linear_workspace %dx%d, %d tokens", shape.first,
                    shape.second, tokens);
      std::size_t bytes = 0;
      EXPECT_LT(
          nanoseconds(what, [&] { nf4_linear_workspace(&device, &all.weight, &product, &bytes); }),
          kMost);
      std::snprintf(what, sizeof(what), "nf4_linear %dx%d, %d tokens", shape.first, shape.second,
                    tokens);
      nf4_status status = NF4_OK;
      EXPECT_LT(nanoseconds(what,
                            [&] {
                              const nf4_status each =
                                  nf4_linear(&device, &all.weight, &product, stream);
                              if (each != NF4_OK) status = each;
                            }),
                100 * kMost);  // long kernels fill the queue
      EXPECT_TRUE(status == NF4_OK || status == NF4_UNSUPPORTED) << nf4_error_string(status);
    }
    release(all);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace nf4bench
