// What the CUDA variants of the matrix product say of problems, which takes no device.

#include "catalog.hpp"
#include "cuda/matmul/choice.hpp"
#include "cuda/matmul/own_products.hpp"
#include "cuda_problems.hpp"
#include "own.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench {
namespace {

using kernels::DeviceFacts;
using kernels::Launch;
using kernels::OutputType;
using kernels::Problem;
using kernels::Variant;

const Variant& variant(const std::string& name) {
  for (const Variant& each : kernels::cuda::matmul().variants) {
    if (each.name == name) return each;
  }
  throw std::runtime_error("no variant " + name);
}

std::string reason(const std::string& name, const Problem& problem, const DeviceFacts& device) {
  const char* const why = why_unsupported(variant(name), problem, device);
  return why == nullptr ? "" : why;
}

TEST(CudaMatmul, TheCatalogueIsOrderedAndComplete) {
  std::vector<std::string> names;
  for (const Variant& each : kernels::cuda::matmul().variants) names.emplace_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"chain_cublas", "decode_cublas", "mma_linear",
                                             "wgmma_decode", "mma_ring", "gemv_shuffle",
                                             "mma_table", "fused", "cublas_resident"}));
  EXPECT_STREQ(kernels::cuda::matmul().flagship, "fused");
  EXPECT_STREQ(kernels::cuda::matmul().default_baseline, "chain_cublas");
}

TEST(CudaMatmul, KernelsSayWhatTheyCannotDo) {
  Problem wide = make_problem(1, 256, 4096);
  wide.output_type = OutputType::kFloat32;
  for (const char* const name :
       {"gemv_shuffle", "mma_table", "mma_linear", "mma_ring", "wgmma_decode"}) {
    EXPECT_EQ(reason(name, wide, kHopper), "multiplies 16-bit activations only") << name;
  }
  EXPECT_EQ(reason("gemv_shuffle", make_problem(2, 256, 4096), kHopper), "multiplies one token");
  EXPECT_EQ(reason("gemv_shuffle", make_problem(1, 1280, 3420), kHopper),
            "needs a multiple of 32 inputs");
  EXPECT_EQ(reason("gemv_shuffle", make_problem(1, 256, 4096, 32), kTuring), "");
  for (const char* const name : {"mma_linear", "mma_ring", "wgmma_decode"}) {
    EXPECT_EQ(reason(name, make_problem(4, 1280, 3420), kHopper), "needs a multiple of 64 inputs");
    EXPECT_EQ(reason(name, make_problem(4, 256, 4096, 32), kHopper),
              name == std::string_view("mma_ring") ? "" : "needs a blocksize of 64 or more");
    EXPECT_EQ(reason(name, make_problem(16, 1 << 20, 1 << 17), kHopper),
              "needs fewer than 2^37 weights");
    EXPECT_EQ(reason(name, make_problem(4, 1000, 4096, 4096), kHopper), "") << name;
  }
  EXPECT_EQ(reason("mma_linear", make_problem(5, 256, 4096), kHopper), "multiplies up to 4 tokens");
  EXPECT_EQ(reason("mma_linear", make_problem(4, 256, 12288), kHopper), "");
  EXPECT_EQ(reason("mma_linear", make_problem(1, 256, 12352), kHopper), "");
  EXPECT_NE(reason("mma_linear", make_problem(2, 256, 12352), kHopper), "");
  EXPECT_NE(reason("mma_linear", make_problem(1, 256, 4096), kTuring).find("8.0"),
            std::string::npos);
  EXPECT_EQ(reason("wgmma_decode", make_problem((1 << 20) + 1, 256, 4096), kHopper),
            "multiplies up to 2^20 tokens");
  Problem apart = make_problem(4, 256, 4096);
  apart.output_gap = (std::int64_t{1} << 31) - 257;
  for (const char* const name : {"mma_linear", "mma_ring", "wgmma_decode"}) {
    EXPECT_EQ(reason(name, apart, kHopper), "") << name;
  }
  ++apart.output_gap;
  for (const char* const name : {"mma_linear", "mma_ring", "wgmma_decode"}) {
    EXPECT_EQ(reason(name, apart, kHopper), "needs rows of y less than 2^31 apart") << name;
  }
  EXPECT_EQ(reason("mma_table", apart, kHopper), "");
  for (const DeviceFacts& device : {kTuring, kAmpere, kAda, kBlackwell}) {
    EXPECT_NE(reason("wgmma_decode", make_problem(64, 256, 4096), device).find("9.0"),
              std::string::npos);
  }
}

TEST(CudaMatmul, TheRingMultipliesAnyNumberOfTokensFromTuringOn) {
  for (const std::int64_t tokens : {1, 9, 33, 65, 4096, 65536}) {
    for (const DeviceFacts& device : {kTuring, kAmpere, kAda, kHopper, kBlackwell}) {
      Problem problem = make_problem(tokens, 8192, 8192);
      for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
        problem.output_type = type;
        EXPECT_EQ(reason("mma_ring", problem, device), "") << tokens;
      }
    }
  }
}

TEST(CudaMatmul, TheRingTakesWeightsThatLieTransposed) {
  for (const DeviceFacts& device : {kTuring, kAmpere, kAda, kHopper, kBlackwell}) {
    Problem problem = make_problem(64, 128, 192);
    problem.transposed = true;
    EXPECT_EQ(reason("mma_ring", problem, device) == "", device.compute_capability >= 80);
    problem.output_type = OutputType::kFloat16;
    EXPECT_EQ(reason("mma_ring", problem, device), "");
    problem.outputs = 96;
    EXPECT_EQ(reason("mma_ring", problem, device),
              "needs a multiple of 64 outputs where the weight lies transposed");
    problem = make_problem(64, 128, 192, 32);
    problem.transposed = true;
    problem.output_type = OutputType::kFloat16;
    EXPECT_EQ(reason("mma_ring", problem, device), "needs a blocksize of 64 or more");
  }
}

// As measured on an H200.
TEST(CudaExperts, TransposedMatricesGetTheKernelOfTheirTokens) {
  const auto name_of = [](std::int64_t tokens, const DeviceFacts& device, OutputType type,
                          bool nested = false) {
    Problem problem = make_problem(tokens, 5760, 2880);
    problem.elements *= 32;
    problem.blocks *= 32;
    problem.transposed = true;
    problem.nested = nested;
    problem.output_type = type;
    problem.group.experts = 32;
    problem.group.top_k = 4;
    return std::string(kernels::cuda::own_kernels().choose_grouped(problem, device)->name);
  };
  for (const DeviceFacts& device : {kHopper, kAmpere, kTuring}) {
    for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
      for (const std::int64_t tokens : {1, 4, 8}) {
        EXPECT_EQ(name_of(tokens, device, type), "grouped_columns") << tokens;
        EXPECT_EQ(name_of(tokens, device, type, true) == "grouped_columns", tokens <= 4) << tokens;
      }
    }
  }
  for (const std::int64_t tokens : {9, 32, 33, 4096}) {
    const char* const on_hopper = tokens <= 32 ? "grouped_ring" : "grouped_wgmma";
    EXPECT_EQ(name_of(tokens, kHopper, OutputType::kBfloat16), on_hopper) << tokens;
    EXPECT_EQ(name_of(tokens, kAmpere, OutputType::kBfloat16), "grouped_ring") << tokens;
    EXPECT_EQ(name_of(tokens, kTuring, OutputType::kFloat16), "grouped_ring") << tokens;
    EXPECT_EQ(name_of(tokens, kTuring, OutputType::kBfloat16), "grouped_any") << tokens;
  }
}

// bfloat16 tokens become float16 there, 8 Mi values at a time.
TEST(CudaMatmul, TheWorkspaceOnTuringHasRoomForTokensInFloat16) {
  const auto more = [](const char* name, std::int64_t tokens, std::int64_t inputs) {
    const Problem problem = make_problem(tokens, 8192, inputs);
    return workspace_of(variant(name), problem, {.device = kTuring}) -
           workspace_of(variant(name), problem, {.device = kAmpere});
  };
  for (const char* const name : {"mma_ring", "mma_table"}) {
    EXPECT_EQ(more(name, 64, 8192), 256 + 64 * 8192 * 2) << name;
    EXPECT_EQ(more(name, 1024, 8192), 1024 * 4 + 1024 * 8192 * 2) << name;
    EXPECT_EQ(more(name, 1025, 8192), more(name, 1024, 8192)) << name;
    EXPECT_EQ(more(name, 2, 1 << 24), 256 + (2 << 24)) << name << ": one token at a time";
  }
  Problem in_float16 = make_problem(64, 8192, 8192);
  in_float16.output_type = OutputType::kFloat16;
  EXPECT_EQ(workspace_of(variant("mma_ring"), in_float16, {.device = kTuring}),
            workspace_of(variant("mma_ring"), in_float16, {.device = kAmpere}));
}

// On whatever device: it may have so few multiprocessors that activations are regrouped.
TEST(CudaMatmul, TheWorkspaceHasRoomForRegroupedActivations) {
  const auto bytes = [](std::int64_t tokens, std::int64_t inputs) {
    return workspace_of(variant("wgmma_decode"), make_problem(tokens, 8192, inputs), {});
  };
  EXPECT_EQ(bytes(32, 8192) - bytes(32, 4096), 32 * 4096 * 2);
  EXPECT_EQ(bytes(20, 8256), bytes(32, 8448)) << "groups of 256 inputs and 32 tokens";
}

TEST(CudaMatmul, TheGeneralKernelDoesEveryShape) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {
      {1, 1}, {5, 63}, {257, 96}, {1280, 3420}, {28672, 8192}, {65537, 65539}};
  for (const auto& [outputs, inputs] : shapes) {
    for (const int blocksize : {32, 64, 4096}) {
      for (const std::int64_t tokens : {1, 17, 64, 4097}) {
        const Problem problem = make_problem(tokens, outputs, inputs, blocksize);
        for (const DeviceFacts& device : {kTuring, kAmpere, kAda, kHopper, kBlackwell}) {
          EXPECT_EQ(reason("mma_table", problem, device), "");
        }
      }
    }
  }
}

// Outputs and inputs of layers that people quantize.
std::int64_t workspace(const Variant& variant, const Problem& problem,
                       const DeviceFacts& device = kHopper) {
  return workspace_of(variant, problem, {.device = device});
}

const std::vector<std::pair<std::int64_t, std::int64_t>> kLayers = {
    {1024, 4096},  {4096, 4096},  {14336, 4096}, {4096, 14336}, {8192, 8192},
    {28672, 8192}, {8192, 28672}, {1024, 8192},  {5120, 5120},  {25600, 5120},
    {5120, 25600}, {2048, 2048},  {6144, 2048},  {152064, 8192}};

TEST(CudaMatmul, TheIntegerKernelFitsEveryLayerWhereSharedMemoryIsLarge) {
  for (const auto& [outputs, inputs] : kLayers) {
    for (const std::int64_t tokens : {1, 2, 4}) {
      if (tokens > 1 && inputs > 12288) continue;
      for (const DeviceFacts& device : {kAmpere, kHopper, kBlackwell}) {
        if (device.compute_capability == 80 && inputs > 14336) continue;
        EXPECT_EQ(reason("mma_linear", make_problem(tokens, outputs, inputs), device), "")
            << tokens << " tokens, " << outputs << "x" << inputs << ", "
            << device.compute_capability;
      }
    }
  }
}

TEST(CudaMatmul, TheFlagshipNeedsNoDecodedWeightInMemoryForFewTokens) {
  const Variant& fused = variant("fused");
  for (const auto& [outputs, inputs] : kLayers) {
    const bool is_large = outputs * inputs > std::int64_t{32} << 20;
    for (std::int64_t tokens = 1; tokens <= (is_large ? 512 : 256); ++tokens) {
      const Problem problem = make_problem(tokens, outputs, inputs);
      EXPECT_EQ(why_unsupported(fused, problem, kHopper), nullptr);
      // The sums of tiles that several blocks share, whatever the size of the layer.
      EXPECT_LE(workspace(fused, problem), std::int64_t{40} << 20)
          << tokens << " " << outputs << "x" << inputs;
    }
  }
}

TEST(CudaMatmul, OwnProductsStandInTheOrderOfTheirModels) {
  const auto models = kernels::cuda::product_models();
  const auto products = kernels::cuda::own_products();
  ASSERT_EQ(models.size(), products.size());
  for (std::size_t i = 0; i < models.size(); ++i) EXPECT_STREQ(models[i].name, products[i].name);
}

TEST(CudaMatmul, TheFlagshipHasRoomForTheDecodedWeightWhereItLeavesAProductToCublas) {
  const Variant& fused = variant("fused");
  for (const std::int64_t tokens : {1, 16, 129, 1000}) {
    for (const auto& [outputs, inputs] : {std::pair<std::int64_t, std::int64_t>{1152, 4308},
                                          {8192, 4308},
                                          {4096, 4096},
                                          {8192, 8192}}) {
      const Problem problem = make_problem(tokens, outputs, inputs);
      for (const DeviceFacts& device : {kAmpere, kHopper}) {
        const kernels::OwnChoice own = kernels::cuda::own_kernels().choose_matmul(problem, device);
        const Variant& taken = own.beats_blas ? *own.variant : variant("decode_cublas");
        EXPECT_EQ(workspace(fused, problem, device), workspace(taken, problem, device));
      }
    }
  }
}

// Where it can do nothing better it decodes the weight for cuBLAS.
TEST(CudaMatmul, TheFlagshipDoesEveryProblemOnEveryDevice) {
  for (const std::int64_t tokens : {1, 2, 64, 65, 600}) {
    for (const std::int64_t inputs : {3420, 3421, 4096}) {
      const Problem problem = make_problem(tokens, 1280, inputs);
      const std::string cublas = reason("decode_cublas", problem, kTuring);
      for (const DeviceFacts& device : {kTuring, kAmpere, kAda, kHopper, kBlackwell}) {
        const std::string found = reason("fused", problem, device);
        EXPECT_TRUE(found.empty() || found == cublas) << found;
      }
    }
  }
  const Problem problem = make_problem(20000, 8192, 8192);
  EXPECT_GE(workspace(variant("fused"), problem, kAmpere), problem.elements * 2);
}

// Without the memory for a decoded weight: that of a table's split tiles is far smaller.
TEST(CudaMatmul, TheFlagshipHasAKernelForWhatTheSpecialisedOnesCannotDo) {
  std::vector<Problem> problems = {make_problem(64, 8192, 8192), make_problem(1, 12800, 3420),
                                   make_problem(16, 8192, 8192, 32), make_problem(17, 8192, 4103)};
  for (const Problem& problem : problems) {
    for (const DeviceFacts& device : {kTuring, kAmpere, kAda, kHopper, kBlackwell}) {
      EXPECT_EQ(reason("fused", problem, device), "");
      EXPECT_LT(workspace(variant("fused"), problem, device),
                workspace(variant("decode_cublas"), problem, device));
    }
  }
}

TEST(CudaMatmul, TheFlagshipsConfigurationsAreVariants) {
  const Variant& fused = variant("fused");
  ASSERT_NE(fused.configs, nullptr);
  int count = 0;
  for (const char* const* config = fused.configs; *config != nullptr; ++config, ++count) {
    EXPECT_NO_THROW(variant(*config)) << *config;
    EXPECT_STRNE(*config, "fused");
  }
  EXPECT_GE(count, 4);
}

TEST(CudaMatmul, TheFlagshipsWorkspaceIsThatOfItsConfiguration) {
  const Problem problem = make_problem(16, 8192, 8192);
  const Variant& fused = variant("fused");
  for (const char* const* config = fused.configs; *config != nullptr; ++config) {
    if (!reason(*config, problem, kHopper).empty()) continue;
    const Launch launch = {.device = kHopper, .config = *config};
    EXPECT_EQ(workspace_of(fused, problem, launch), workspace(variant(*config), problem))
        << *config;
  }
}

TEST(CudaMatmul, DecodingForCublasTakesRoomForTheWholeWeight) {
  const Problem problem = make_problem(64, 4096, 4096);
  const std::int64_t weight = problem.elements * 2;
  EXPECT_GE(workspace(variant("decode_cublas"), problem), weight);
  // Scales of blocks as float32, besides.
  EXPECT_GE(workspace(variant("chain_cublas"), problem),
            workspace(variant("decode_cublas"), problem) + problem.blocks * 4);
}

}  // namespace
}  // namespace nf4bench
