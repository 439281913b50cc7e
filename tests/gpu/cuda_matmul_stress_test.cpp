// Thousands of launches of the kernels of the matrix product, which synchronize through shared
// memory and run beside the end of the kernel before: behind one that left NaN in all shared
// memory, with inputs in the cache and not, and one right behind the other. Each must give the same
// bits. And two of them that get the device in pieces, of two streams whose priorities differ.

#include "catalog.hpp"
#include "gpu/held_device.hpp"
#include "gpu/poison_shared.hpp"
#include "gpu_fixture.hpp"
#include "nf4/synthetic.hpp"
#include "operation/activations.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace nf4bench {
namespace {

struct DeviceFree {
  void operator()(std::byte* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<std::byte, DeviceFree>;

DeviceMemory allocate(std::size_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, bytes + 256), cudaSuccess);
  return DeviceMemory(static_cast<std::byte*>(memory));
}

template <class Value>
DeviceMemory upload(const std::vector<Value>& values) {
  DeviceMemory memory = allocate(values.size() * sizeof(Value));
  cudaMemcpy(memory.get(), values.data(), values.size() * sizeof(Value), cudaMemcpyHostToDevice);
  return memory;
}

// A product on the device, with two outputs.
class StressedProduct {
 public:
  StressedProduct(const std::vector<std::int64_t>& shape, std::int64_t tokens, nf4::OutputType type)
      : weight_(nf4::make_synthetic({.shape = shape})),
        problem_(operation::problem_of(weight_, type)) {
    problem_.tokens = tokens;
    input_ = operation::make_activations(problem_, record::Activations::kNormal, 7);
    packed_ = upload(weight_.packed);
    codes_ = upload(weight_.absmax_codes);
    nested_absmax_ = upload(weight_.nested_absmax);
    map_ = upload(weight_.nested_map);
    offset_ = upload(std::vector{weight_.nested_offset});
    x_ = upload(input_);
    for (DeviceMemory& output : outputs_) output = allocate(output_bytes());
  }

  const kernels::Problem& problem() const { return problem_; }
  std::size_t output_bytes() const {
    return static_cast<std::size_t>(problem_.tokens * problem_.outputs) * 2;
  }
  std::byte* output(int i) const { return outputs_[i].get(); }

  kernels::Job job(int output, std::byte* workspace) const {
    kernels::Job job;
    static_cast<kernels::Problem&>(job) = problem_;
    job.packed = reinterpret_cast<const std::uint8_t*>(packed_.get());
    job.absmax_codes = reinterpret_cast<const std::uint8_t*>(codes_.get());
    job.nested_absmax = reinterpret_cast<const float*>(nested_absmax_.get());
    job.nested_map = reinterpret_cast<const float*>(map_.get());
    job.nested_offset = reinterpret_cast<const float*>(offset_.get());
    job.input = x_.get();
    job.output = outputs_[output].get();
    job.workspace = workspace;
    return job;
  }

  std::vector<std::byte> read(int i) const {
    std::vector<std::byte> bytes(output_bytes());
    cudaMemcpy(bytes.data(), output(i), bytes.size(), cudaMemcpyDeviceToHost);
    return bytes;
  }

  bool is_right(const std::vector<std::byte>& output) const {
    const operation::Operation& matmul = operation::matmul();
    const auto expected =
        matmul.reference(weight_, problem_, input_, std::numeric_limits<std::int64_t>::max());
    return matmul.judge(problem_, expected, output).passed();
  }

 private:
  nf4::Nf4Tensor weight_;
  kernels::Problem problem_;
  std::vector<std::byte> input_;
  DeviceMemory packed_, codes_, nested_absmax_, map_, offset_, x_;
  DeviceMemory outputs_[2];
};

class CudaMatmulStress : public GpuTest {
 protected:
  static constexpr int kRounds = 200;
  static constexpr std::size_t kFlushBytes = std::size_t{128} << 20;

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    flush_ = allocate(kFlushBytes);
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  // Which has no wgmma_decode and no mma_linear.
  static bool is_turing() { return device_->info().compute_capability < 80; }

  // Differences from what the first launch gave, in all launches.
  void stress(const kernels::Variant& variant, const StressedProduct& product) {
    const kernels::Launch launch = {.stream = stream_, .device = device::facts_of(device_->info())};
    if (why_unsupported(variant, product.problem(), launch.device) != nullptr) return;
    const auto scratch = static_cast<std::size_t>(workspace_of(variant, product.problem(), launch));
    const DeviceMemory workspace = allocate(scratch);
    variant.launch(product.job(0, workspace.get()), launch);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess) << variant.name;
    const std::vector<std::byte> first = product.read(0);
    ASSERT_TRUE(product.is_right(first)) << variant.name;
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < 2; ++i) {
        cudaMemsetAsync(product.output(i), 0xff, product.output_bytes(), stream_);
      }
      cudaMemsetAsync(workspace.get(), 0xff, std::min<std::size_t>(scratch, 1 << 20), stream_);
      if (round % 2 == 1) poison_shared_memory(round % 4 == 1 ? 0x7fc07fc0u : ~0u, stream_);
      if (round % 8 == 2) cudaMemsetAsync(flush_.get(), round, kFlushBytes, stream_);
      for (const int output : {0, 1, 0}) {
        variant.launch(product.job(output, workspace.get()), launch);
        ++launches_;
      }
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess) << variant.name;
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(product.read(i), first) << variant.name << ", round " << round;
      }
    }
  }

  // Two products, the second of which is more urgent and comes when the first has found room for
  // some of its blocks only.
  void run_in_pieces(const kernels::Variant& variant, const StressedProduct& product, int room) {
    kernels::Launch launch = {.stream = stream_, .device = device::facts_of(device_->info())};
    if (why_unsupported(variant, product.problem(), launch.device) != nullptr) return;
    const auto scratch = static_cast<std::size_t>(workspace_of(variant, product.problem(), launch));
    const DeviceMemory workspaces[] = {allocate(scratch), allocate(scratch)};
    variant.launch(product.job(0, workspaces[0].get()), launch);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess) << variant.name;
    const std::vector<std::byte> alone = product.read(0);
    for (int i = 0; i < 2; ++i) cudaMemset(product.output(i), 0xff, product.output_bytes());
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);  // the streams do not wait for that
    int least = 0;
    int greatest = 0;
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    CUstream_st* streams[2] = {};
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking, least - i),
                cudaSuccess);
    }
    {
      using namespace std::chrono_literals;
      HeldDevice held;
      held.release(room);
      for (int i = 0; i < 2; ++i) {
        launch.stream = streams[i];
        variant.launch(product.job(i, workspaces[i].get()), launch);
        std::this_thread::sleep_for(5ms);  // to find what room there is
      }
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (CUstream_st* stream : streams) {
      while (cudaStreamQuery(stream) == cudaErrorNotReady) {
        if (std::chrono::steady_clock::now() < end) continue;
        std::cerr << variant.name << " waits for itself with room for " << room << " blocks\n";
        std::_Exit(EXIT_FAILURE);  // nothing else ends these kernels
      }
      cudaStreamDestroy(stream);
    }
    for (int i = 0; i < 2; ++i) ASSERT_EQ(product.read(i), alone) << variant.name;
    ++launches_;
  }

  CUstream_st* stream_ = nullptr;
  DeviceMemory flush_;
  std::int64_t launches_ = 0;
};

TEST_F(CudaMatmulStress, EveryLaunchGivesTheSameBits) {
  struct Case {
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> token_counts = {1, 3, 8, 16, 33, 64, 100, 256};
  };
  // wgmma_decode regroups the activations of the last two, on an H200.
  const std::vector<Case> cases = {{{1000, 2112}}, {{1024, 4096}},       {{4096, 4096}},
                                   {{8192, 2048}}, {{8192, 4096}, {32}}, {{18944, 3584}, {64}}};
  for (const auto& [shape, token_counts] : cases) {
    for (const std::int64_t tokens : token_counts) {
      const StressedProduct product(shape, tokens, nf4::OutputType::kBfloat16);
      for (const kernels::Variant& variant : kernels::cuda::matmul().variants) {
        SCOPED_TRACE(::testing::Message() << tokens << " tokens, " << shape[0] << "x" << shape[1]);
        const std::string name = variant.name;
        // cuBLAS may choose another order of its sums.
        if (name.find("cublas") == std::string::npos) stress(variant, product);
      }
    }
  }
  EXPECT_GT(launches_, is_turing() ? 1000 : 5000);
}

TEST_F(CudaMatmulStress, ProductsOfTwoPrioritiesBothFinish) {
  struct Case {
    std::vector<std::int64_t> shape;
    std::int64_t tokens;
  };
  // The first two regroup their activations, on an H200.
  const std::vector<Case> cases = {
      {{8192, 4096}, 32}, {{18944, 3584}, 64}, {{1024, 4096}, 8}, {{100, 16384}, 16}};
  for (const auto& [shape, tokens] : cases) {
    const StressedProduct product(shape, tokens, nf4::OutputType::kBfloat16);
    const int all = device_->info().multiprocessors;
    for (const kernels::Variant& variant : kernels::cuda::matmul().variants) {
      for (const int room : {1, all / 2 - 5, all - 3}) {
        SCOPED_TRACE(::testing::Message() << tokens << " tokens, " << shape[0] << "x" << shape[1]);
        if (variant.traits.persistent) run_in_pieces(variant, product, room);
      }
    }
  }
  EXPECT_GT(launches_, is_turing() ? 10 : 20);
}

}  // namespace
}  // namespace nf4bench
