// Which kernel of our own a product gets, on each side of every crossover. Takes no device.

#include "cuda_problems.hpp"
#include "own.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

using kernels::DeviceFacts;
using kernels::OwnChoice;
using kernels::Problem;

const kernels::OwnKernels& own() {
  return kernels::cuda::own_kernels();
}

// The kernel's name, in brackets where a BLAS on the decoded weight is faster.
std::string choice(const DeviceFacts& device, const Problem& problem) {
  const OwnChoice choice = own().choose_matmul(problem, device);
  if (choice.variant == nullptr) return "none";
  const std::string name = choice.variant->name;
  return choice.beats_blas ? name : "(" + name + ")";
}

struct Expected {
  std::int64_t tokens;
  std::int64_t outputs;
  std::int64_t inputs;
  const char* kernel;
};

void expect_choices(const DeviceFacts& device, const std::vector<Expected>& all) {
  for (const auto& [tokens, outputs, inputs, kernel] : all) {
    EXPECT_EQ(choice(device, make_problem(tokens, outputs, inputs)), kernel)
        << tokens << " tokens, " << outputs << "x" << inputs;
  }
}

TEST(CudaOwn, FewTokensGoToTheIntegerKernelAndMoreToThatOfWarpgroupsOnHopper) {
  expect_choices(kHopper, {{4, 4096, 4096, "mma_linear"}, {5, 4096, 4096, "wgmma_decode"}});
}

TEST(CudaOwn, FewTokensWithLongRowsGoToTheKernelOfWarpgroups) {
  expect_choices(kHopper, {{4, 14336, 4096, "mma_linear"},
                           {4, 14336, 4160, "wgmma_decode"},
                           {2, 14336, 4160, "wgmma_decode"},
                           {1, 14336, 4160, "mma_linear"},
                           {1, 4096, 32768, "mma_linear"},
                           {1, 4096, 32832, "wgmma_decode"}});
  // Rows that are long beside their number.
  expect_choices(kHopper, {{2, 896, 3584, "wgmma_decode"},
                           {2, 897, 3584, "mma_linear"},
                           {2, 512, 3520, "mma_linear"},
                           {1, 512, 3584, "mma_linear"}});
}

TEST(CudaOwn, ManyTokensGoToABlasOnHopper) {
  expect_choices(kHopper, {{512, 8192, 8192, "wgmma_decode"}, {513, 8192, 8192, "(wgmma_decode)"}});
  // Up to 4 Mi elements with more than 4,096 inputs.
  expect_choices(kHopper, {{384, 963, 4352, "wgmma_decode"},
                           {385, 963, 4352, "(wgmma_decode)"},
                           {385, 964, 4352, "wgmma_decode"},
                           {385, 1024, 4096, "wgmma_decode"}});
  // Up to 9 Mi where rows end within a stage of 256 inputs.
  expect_choices(kHopper, {{384, 2949, 3200, "wgmma_decode"},
                           {385, 2949, 3200, "(wgmma_decode)"},
                           {385, 2950, 3200, "wgmma_decode"},
                           {385, 2304, 4096, "wgmma_decode"}});
}

TEST(CudaOwn, OtherShapesGoToTheTableFromWhereItBeatsABlas) {
  expect_choices(kHopper, {{1, 1947, 4308, "(mma_table)"},
                           {1, 1948, 4308, "mma_table"},
                           {16, 1948, 4308, "mma_table"},
                           {17, 5841, 4308, "(mma_table)"},
                           {17, 5842, 4308, "mma_table"},
                           {64, 5842, 4308, "mma_table"},
                           {65, 5842, 4308, "(mma_table)"}});
  expect_choices(kHopper, {{1, 1280, 4128, "gemv_shuffle"}, {2, 1280, 4128, "(mma_table)"}});
}

TEST(CudaOwn, OtherArchitecturesTakeTheIntegerKernelForOneTokenAndTheRingForMore) {
  for (const DeviceFacts& device : {kAmpere, kAda, kBlackwell}) {
    expect_choices(device, {{1, 4096, 4096, "mma_linear"},
                            {2, 4096, 4096, "mma_ring"},
                            {128, 16383, 8192, "mma_ring"},
                            {129, 16383, 8192, "(mma_ring)"},
                            {128, 28672, 8192, "mma_ring"},
                            {129, 28672, 8192, "(mma_ring)"},
                            {128, 1024, 4096, "mma_ring"},
                            {129, 1024, 4096, "(mma_ring)"}});
  }
  // One token's activations take more shared memory than this has.
  expect_choices(kAda, {{1, 8192, 8192, "mma_ring"}});
  expect_choices(kTuring, {{1, 8192, 8192, "gemv_shuffle"}, {2, 8192, 8192, "none"}});
  Problem in_float16 = make_problem(128, 8192, 8192);
  in_float16.output_type = kernels::OutputType::kFloat16;
  EXPECT_EQ(choice(kTuring, in_float16), "mma_ring");
}

// Searched for by asking for every number of tokens.
TEST(CudaOwn, SaysTheMostTokensThatBeatABlas) {
  for (const auto& [outputs, inputs] : {std::pair<std::int64_t, std::int64_t>{8192, 8192},
                                        {963, 4352},
                                        {2949, 3200},
                                        {4096, 32832},
                                        {1280, 4128},
                                        {1947, 4308},
                                        {1948, 4308},
                                        {5842, 4308},
                                        {1000, 63}}) {
    for (const DeviceFacts& device : {kTuring, kAmpere, kAda, kHopper, kBlackwell}) {
      std::int64_t most = 0;
      for (std::int64_t tokens = 1; tokens <= 600; ++tokens) {
        const Problem problem = make_problem(tokens, outputs, inputs);
        if (own().choose_matmul(problem, device).beats_blas) most = tokens;
      }
      EXPECT_EQ(own().most_tokens(make_problem(7, outputs, inputs), device), most)
          << outputs << "x" << inputs << ", " << device.compute_capability;
    }
  }
}

}  // namespace
}  // namespace nf4bench
