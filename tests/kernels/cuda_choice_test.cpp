// Which kernel of our own a product gets, and what costs are worth. Takes no device, and no CUDA.

#include "cuda/cards.hpp"
#include "cuda/matmul/choice.hpp"
#include "cuda/matmul/costs.hpp"
#include "cuda/prediction.hpp"
#include "cuda_problems.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench {
namespace {

using kernels::DeviceFacts;
using kernels::Problem;
using kernels::cuda::choose_product;
using kernels::cuda::most_own_tokens;
using kernels::cuda::ProductChoice;

// "none" where there is none.
std::string name_of(const ProductChoice& choice) {
  return choice.own < 0
             ? "none"
             : kernels::cuda::product_models()[static_cast<std::size_t>(choice.own)].name;
}

// The kernel's name, in brackets where a BLAS on the decoded weight is faster.
std::string choice(const DeviceFacts& device, const Problem& problem) {
  const ProductChoice choice = choose_product(problem, device);
  return choice.own < 0 || choice.beats_blas() ? name_of(choice) : "(" + name_of(choice) + ")";
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

// A line of a file of medians: what a product took by each way.
struct MeasuredProduct {
  Problem problem;
  std::map<std::string, double> us;

  double least() const {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [name, time] : us) least = std::min(least, time);
    return least;
  }
};

// Of columns NAME_us of a file in docs/results; fused_cublas is what decode_cublas was called.
std::vector<MeasuredProduct> read_medians(const std::string& file) {
  std::ifstream input(std::string(NF4BENCH_SOURCE_DIR) + "/docs/results/" + file);
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream rest(line);
    for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::string line;
  std::getline(input, line);
  const std::vector<std::string> names = cells_of(line);
  std::vector<MeasuredProduct> all;
  while (std::getline(input, line)) {
    const std::vector<std::string> cells = cells_of(line);
    MeasuredProduct product;
    product.problem =
        make_problem(std::stoll(cells[2]), std::stoll(cells[0]), std::stoll(cells[1]));
    for (std::size_t i = 3; i < cells.size(); ++i) {
      const bool can = names[i] != "mma_linear_us" || product.problem.tokens <= 4;
      if (cells[i].empty() || !can) continue;
      if (names[i] == "fused_cublas_us" || names[i] == "decode_cublas_us") {
        product.us["BLAS"] = std::stod(cells[i]);
      } else if (names[i] == "wgmma_decode_us" || names[i] == "mma_linear_us" ||
                 names[i] == "mma_ring_us") {
        product.us[names[i].substr(0, names[i].size() - 3)] = std::stod(cells[i]);
      }
    }
    if (product.problem.inputs % 64 == 0) all.push_back(product);
  }
  return all;
}

TEST(CudaChoice, IsRarelySlowerThanTheFastestThatWasMeasured) {
  int products = 0;
  int slower = 0;
  double longer = 0.0;
  DeviceFacts older = kHopper;
  older.compute_capability = 80;
  older.card_capability = 90;
  const std::pair<const char*, DeviceFacts> measured[] = {
      {"h200/matmul-presets.csv", kHopper},    {"h200/matmul-crossover.csv", kHopper},
      {"h200/matmul-layers.csv", kHopper},     {"h100/matmul-presets.csv", kH100},
      {"h200/matmul-as80-presets.csv", older},
  };
  for (const auto& [file, device] : measured) {
    for (const MeasuredProduct& each : read_medians(file)) {
      const ProductChoice taken = choose_product(each.problem, device);
      const double us = each.us.at(taken.beats_blas() ? name_of(taken) : "BLAS");
      const double ratio = us / each.least();
      EXPECT_LT(ratio, 1.15) << each.problem.outputs << "x" << each.problem.inputs << ", "
                             << each.problem.tokens << " tokens: " << name_of(taken);
      ++products;
      slower += ratio > 1.05;
      longer += ratio - 1.0;
    }
  }
  EXPECT_GT(products, 1000);
  EXPECT_LT(slower, products / 60);
  EXPECT_LT(longer / products, 0.003);
}

TEST(CudaChoice, CostsOnHopperAreThoseThatWereMeasured) {
  for (const auto& [folder, device] : {std::pair{"h200", kHopper}, std::pair{"h100", kH100}}) {
    std::vector<double> ratios;
    for (const MeasuredProduct& each : read_medians(std::string(folder) + "/matmul-presets.csv")) {
      const ProductChoice taken = choose_product(each.problem, device);
      ratios.push_back(taken.ns() / 1e3 / each.least());
    }
    std::sort(ratios.begin(), ratios.end());
    EXPECT_GT(ratios[ratios.size() / 20], 0.85) << folder;
    EXPECT_NEAR(ratios[ratios.size() / 2], 1.0, 0.05) << folder;
    EXPECT_LT(ratios[ratios.size() - ratios.size() / 20], 1.15) << folder;
  }
}

TEST(CudaChoice, TakesWhatWasMeasuredToBeTheFastestWithCodeOfAmpereOnHopper) {
  DeviceFacts device = kHopper;
  device.compute_capability = 80;
  device.card_capability = 90;
  expect_choices(device, {{1, 1024, 4096, "mma_linear"},
                          {4, 1024, 4096, "mma_linear"},
                          {8, 1024, 4096, "mma_ring"},
                          {2, 8192, 8192, "mma_ring"},
                          {96, 4096, 4096, "mma_ring"},
                          {128, 8192, 8192, "mma_ring"},
                          {128, 28672, 8192, "mma_ring"},
                          {256, 4096, 4096, "(mma_ring)"},
                          {256, 8192, 8192, "(mma_ring)"},
                          {384, 8192, 8192, "(mma_ring)"},
                          {512, 4096, 4096, "(mma_ring)"}});
}

TEST(CudaChoice, OtherShapesGoToTheTableFromWhereItBeatsABlas) {
  expect_choices(kHopper, {{1, 5842, 4308, "mma_table"},
                           {16, 5842, 4308, "mma_table"},
                           {64, 5842, 4308, "mma_table"},
                           {256, 5842, 4308, "(mma_table)"},
                           {1, 1280, 4128, "gemv_shuffle"}});
}

TEST(CudaChoice, EachCardGetsWhatItCanDo) {
  for (const DeviceFacts& device : {kAmpere, kAda, kBlackwell}) {
    expect_choices(device, {{16, 4096, 4096, "mma_ring"}, {64, 28672, 8192, "mma_ring"}});
  }
  // One token's activations take more shared memory than this has.
  expect_choices(kAda, {{1, 8192, 8192, "mma_ring"}});
  expect_choices(kTuring, {{1, 8192, 8192, "gemv_shuffle"},
                           {2, 8192, 8192, "mma_ring"},
                           {16, 5842, 4308, "mma_table"},
                           {512, 8192, 8192, "mma_ring"}});
  Problem in_float16 = make_problem(128, 8192, 8192);
  in_float16.output_type = kernels::OutputType::kFloat16;
  EXPECT_EQ(choice(kTuring, in_float16), "mma_ring");
}

// A weight that is decoded costs the more, the slower the memory is beside the multiprocessors.
TEST(CudaChoice, SlowMemoryLeavesFewerTokensToABlas) {
  DeviceFacts fast = kAmpere;
  fast.memory_bytes_per_s = 4e12;
  DeviceFacts slow = kAmpere;
  slow.memory_bytes_per_s = 0.5e12;
  const Problem problem = make_problem(1, 8192, 8192);
  EXPECT_LT(most_own_tokens(problem, fast), most_own_tokens(problem, slow));
}

TEST(CudaChoice, MostTokensIsWhereABlasBegins) {
  for (const auto& [outputs, inputs] : {std::pair<std::int64_t, std::int64_t>{8192, 8192},
                                        {963, 4352},
                                        {4096, 32832},
                                        {1280, 4128},
                                        {5842, 4308}}) {
    for (const DeviceFacts& device : {kTuring, kAmpere, kAda, kHopper, kBlackwell}) {
      const std::int64_t most = most_own_tokens(make_problem(7, outputs, inputs), device);
      SCOPED_TRACE(testing::Message() << outputs << "x" << inputs << ", "
                                      << device.compute_capability << ", " << most);
      if (most > 0) {
        EXPECT_TRUE(choose_product(make_problem(most, outputs, inputs), device).beats_blas());
      }
      if (most < std::int64_t{1} << 20) {
        EXPECT_FALSE(choose_product(make_problem(most + 1, outputs, inputs), device).beats_blas());
      }
    }
  }
}

// Medians of docs/results/h200: geometries.json, qwen3-32b.json and plain.json.
TEST(CudaCosts, OfDequantizationOnHopperAreThoseThatWereMeasured) {
  struct Measured {
    std::int64_t outputs, inputs;
    double us;
  };
  for (const auto& [outputs, inputs, us] : {Measured{2048, 2048, 3.64},
                                            {4096, 4096, 11.58},
                                            {5120, 8192, 26.82},
                                            {8192, 8192, 42.35},
                                            {28672, 8192, 144.86},
                                            {65536, 16384, 656.8}}) {
    const double ns = kernels::cuda::dequantize_ns(make_problem(0, outputs, inputs), kHopper);
    EXPECT_NEAR(ns / 1e3 / us, 1.0, outputs < 4096 ? 0.12 : 0.03) << outputs << "x" << inputs;
  }
  Problem in_float32 = make_problem(0, 8192, 8192);
  in_float32.output_type = kernels::OutputType::kFloat32;
  EXPECT_NEAR(kernels::cuda::dequantize_ns(in_float32, kHopper) / 1e3 / 76.7, 1.0, 0.05);
}

TEST(CudaPrediction, NothingIsFasterThanItsRoof) {
  for (const kernels::cuda::Card& card : kernels::cuda::known_cards()) {
    for (const std::int64_t tokens : {0, 1, 4, 8, 16, 64, 256, 1024, 8192}) {
      for (const auto& [outputs, inputs] :
           {std::pair<std::int64_t, std::int64_t>{1024, 4096}, {8192, 8192}, {28672, 8192}}) {
        for (const auto type : {kernels::OutputType::kFloat16, kernels::OutputType::kBfloat16}) {
          Problem problem = make_problem(tokens, outputs, inputs);
          problem.output_type = type;
          const kernels::cuda::Prediction predicted = kernels::cuda::predict(problem, card.facts);
          ASSERT_STRNE(predicted.kernel, "");
          EXPECT_GT(predicted.ns, std::max(predicted.roof.memory_ns, predicted.roof.tensor_ns))
              << card.name << ", " << tokens << " tokens, " << outputs << "x" << inputs;
        }
      }
    }
  }
}

// Ours goes through float16, cuBLAS has no tensor cores for it.
TEST(CudaPrediction, OfBfloat16OnTuringIsOurs) {
  for (const std::int64_t tokens : {8, 64, 512, 4096}) {
    const Problem problem = make_problem(tokens, 8192, 8192);
    Problem in_float16 = problem;
    in_float16.output_type = kernels::OutputType::kFloat16;
    const kernels::cuda::Prediction predicted = kernels::cuda::predict(problem, kTuring);
    EXPECT_STREQ(predicted.kernel, "mma_ring");
    EXPECT_LT(predicted.ns, predicted.resident_ns);
    const double float16_ns = kernels::cuda::mma_ring_ns(in_float16, kTuring);
    EXPECT_GT(predicted.ns, float16_ns);
    EXPECT_LT(predicted.ns, float16_ns * 1.2);
  }
}

}  // namespace
}  // namespace nf4bench
