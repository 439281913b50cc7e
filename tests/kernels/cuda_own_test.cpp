// Which kernel of our own a product gets. Takes no device.

#include "cuda_problems.hpp"
#include "own.hpp"

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

// Of columns NAME_us; fused_cublas is what decode_cublas was called.
std::vector<MeasuredProduct> read_medians(const std::string& file) {
  std::ifstream input(std::string(NF4BENCH_SOURCE_DIR) + "/docs/results/h200/" + file);
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
      if (names[i] == "fused_cublas_us") {
        product.us["BLAS"] = std::stod(cells[i]);
      } else if (names[i] == "wgmma_decode_us" || names[i] == "mma_linear_us") {
        product.us[names[i].substr(0, names[i].size() - 3)] = std::stod(cells[i]);
      }
    }
    if (product.problem.inputs % 64 == 0) all.push_back(product);
  }
  return all;
}

TEST(CudaOwn, IsRarelySlowerOnHopperThanTheFastestThatWasMeasured) {
  int products = 0;
  int slower = 0;
  double longer = 0.0;
  for (const char* file : {"matmul-presets.csv", "matmul-crossover.csv"}) {
    for (const MeasuredProduct& each : read_medians(file)) {
      const OwnChoice taken = own().choose_matmul(each.problem, kHopper);
      const double us = each.us.at(taken.beats_blas ? taken.variant->name : "BLAS");
      const double ratio = us / each.least();
      EXPECT_LT(ratio, 1.15) << each.problem.outputs << "x" << each.problem.inputs << ", "
                             << each.problem.tokens << " tokens: " << taken.variant->name;
      ++products;
      slower += ratio > 1.05;
      longer += ratio - 1.0;
    }
  }
  EXPECT_GT(products, 1000);
  EXPECT_LT(slower, products / 60);
  EXPECT_LT(longer / products, 0.003);
}

TEST(CudaOwn, CostsOnHopperAreThoseThatWereMeasured) {
  std::vector<double> ratios;
  for (const MeasuredProduct& each : read_medians("matmul-presets.csv")) {
    ratios.push_back(own().choose_matmul(each.problem, kHopper).expected_ns / 1e3 / each.least());
  }
  std::sort(ratios.begin(), ratios.end());
  EXPECT_GT(ratios[ratios.size() / 20], 0.85);
  EXPECT_NEAR(ratios[ratios.size() / 2], 1.0, 0.05);
  EXPECT_LT(ratios[ratios.size() - ratios.size() / 20], 1.15);
}

TEST(CudaOwn, TakesWhatWasMeasuredToBeTheFastestWithCodeOfAmpereOnHopper) {
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

TEST(CudaOwn, OtherShapesGoToTheTableFromWhereItBeatsABlas) {
  expect_choices(kHopper, {{1, 5842, 4308, "mma_table"},
                           {16, 5842, 4308, "mma_table"},
                           {64, 5842, 4308, "mma_table"},
                           {256, 5842, 4308, "(mma_table)"},
                           {1, 1280, 4128, "gemv_shuffle"}});
}

TEST(CudaOwn, EachCardGetsWhatItCanDo) {
  for (const DeviceFacts& device : {kAmpere, kAda, kBlackwell}) {
    expect_choices(device, {{16, 4096, 4096, "mma_ring"}, {64, 28672, 8192, "mma_ring"}});
  }
  // One token's activations take more shared memory than this has.
  expect_choices(kAda, {{1, 8192, 8192, "mma_ring"}});
  expect_choices(kTuring, {{1, 8192, 8192, "gemv_shuffle"}, {2, 8192, 8192, "none"}});
  Problem in_float16 = make_problem(128, 8192, 8192);
  in_float16.output_type = kernels::OutputType::kFloat16;
  EXPECT_EQ(choice(kTuring, in_float16), "mma_ring");
}

// A weight that is decoded costs the more, the slower the memory is beside the multiprocessors.
TEST(CudaOwn, SlowMemoryLeavesFewerTokensToABlas) {
  DeviceFacts fast = kAmpere;
  fast.memory_bytes_per_s = 4e12;
  DeviceFacts slow = kAmpere;
  slow.memory_bytes_per_s = 0.5e12;
  const Problem problem = make_problem(1, 8192, 8192);
  EXPECT_LT(own().most_tokens(problem, fast), own().most_tokens(problem, slow));
}

TEST(CudaOwn, MostTokensIsWhereABlasBegins) {
  for (const auto& [outputs, inputs] : {std::pair<std::int64_t, std::int64_t>{8192, 8192},
                                        {963, 4352},
                                        {4096, 32832},
                                        {1280, 4128},
                                        {5842, 4308}}) {
    for (const DeviceFacts& device : {kTuring, kAmpere, kAda, kHopper, kBlackwell}) {
      const std::int64_t most = own().most_tokens(make_problem(7, outputs, inputs), device);
      SCOPED_TRACE(testing::Message() << outputs << "x" << inputs << ", "
                                      << device.compute_capability << ", " << most);
      if (most > 0) {
        EXPECT_TRUE(own().choose_matmul(make_problem(most, outputs, inputs), device).beats_blas);
      }
      if (most < std::int64_t{1} << 20) {
        EXPECT_FALSE(
            own().choose_matmul(make_problem(most + 1, outputs, inputs), device).beats_blas);
      }
    }
  }
}

}  // namespace
}  // namespace nf4bench
