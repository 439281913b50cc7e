// What libnf4 computes on the CPU.

#include "catalog.hpp"
#include "lib/host_call.hpp"
#include "nf4/reference.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"
#include "operation/judge.hpp"
#include "operation/product_truth.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

namespace nf4bench::test {
namespace {

using nf4::AbsmaxKind;
using nf4::Distribution;
using nf4::Nf4Tensor;
using nf4::OutputType;

std::vector<std::byte> decoded(const HostWeight& weight, OutputType type) {
  const auto values = static_cast<std::size_t>(weight.tensor().elements);
  const HostBuffer output(values * size_in_bytes(type));
  const nf4_device device = cpu_device();
  const nf4_weight c = weight.c();
  const nf4_status status =
      nf4_dequantize(&device, &c, static_cast<std::int32_t>(type), output.data(), nullptr);
  EXPECT_EQ(status, NF4_OK) << nf4_error_string(status);
  return {output.span().begin(), output.span().end()};
}

kernels::Problem problem_of(const Nf4Tensor& tensor, OutputType type, std::int64_t tokens) {
  kernels::Problem problem = operation::problem_of(tensor, type);
  problem.outputs = tensor.shape[0];
  problem.inputs = tensor.shape[1];
  problem.tokens = tokens;
  return problem;
}

std::vector<std::byte> activations(const kernels::Problem& problem) {
  return operation::make_activations(problem, record::Activations::kNormal, 3);
}

std::vector<std::byte> multiplied(const HostWeight& weight, OutputType type,
                                  const std::vector<std::byte>& input, const void* bias = nullptr) {
  const nf4_device device = cpu_device();
  const nf4_weight c = weight.c();
  HostProduct host(c, type, input);
  host.product.bias = bias;
  const nf4_status status = nf4_linear(&device, &c, &host.product, nullptr);
  EXPECT_EQ(status, NF4_OK) << nf4_error_string(status);
  return host.output();
}

class Libnf4 : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Blocksize, Libnf4,
                         testing::Values(32, 64, 128, 256, 512, 1024, 2048, 4096),
                         testing::PrintToStringParamName());

TEST_P(Libnf4, DecodesBitForBitWhatNeedNotBeAlignedToVectors) {
  for (const AbsmaxKind kind : {AbsmaxKind::kPlain, AbsmaxKind::kNested}) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{1, 1}, {1, 33}, {64, 64}, {257, 65}, {100, 4099}}) {
      const HostWeight weight(nf4::make_synthetic({.shape = shape,
                                                   .blocksize = GetParam(),
                                                   .absmax_kind = kind,
                                                   .distribution = Distribution::kExtremes}));
      for (const OutputType type : nf4::kOutputTypes) {
        EXPECT_EQ(decoded(weight, type), nf4::reference_dequantize(weight.tensor(), type))
            << shape[0] << "x" << shape[1] << " " << to_string(type) << " " << to_string(kind);
      }
    }
  }
}

TEST_P(Libnf4, MultipliesWithExactWeights) {
  for (const AbsmaxKind kind : {AbsmaxKind::kPlain, AbsmaxKind::kNested}) {
    const HostWeight weight(
        nf4::make_synthetic({.shape = {35, 517}, .blocksize = GetParam(), .absmax_kind = kind}));
    for (const OutputType type : nf4::kOutputTypes) {
      const kernels::Problem problem = problem_of(weight.tensor(), type, 5);
      const std::vector<std::byte> input = activations(problem);
      const auto truth = operation::product_truth(weight.tensor(), problem, input,
                                                  std::numeric_limits<std::int64_t>::max());
      const record::Verification found =
          operation::compare_products(type, operation::bounds_of({type, problem.inputs}, truth),
                                      multiplied(weight, type, input));
      EXPECT_TRUE(found.passed()) << to_string(type) << ": " << operation::describe_error(found);
      EXPECT_EQ(found.accuracy->weights, record::WeightClass::kExact);
    }
  }
}

// The bits of what `run` measures: it is one kernel, and what a caller gets is what was measured.
TEST(Libnf4Linear, GivesTheBitsOfTheVariant) {
  const kernels::Variant& simd = kernels::cpu::matmul().variants.back();
  ASSERT_STREQ(simd.name, kernels::cpu::matmul().flagship);
  for (const std::int64_t tokens : {1, 4, 5, 515, 1200}) {
    const HostWeight weight(nf4::make_synthetic({.shape = {37, 2053}}));
    const kernels::Problem problem = problem_of(weight.tensor(), OutputType::kBfloat16, tokens);
    const std::vector<std::byte> input = activations(problem);
    HostProduct own(weight.c(), problem.output_type, input);
    kernels::Job job;
    static_cast<kernels::Problem&>(job) = problem;
    const nf4_weight c = weight.c();
    job.packed = c.packed;
    job.absmax_codes = c.absmax_codes;
    job.nested_absmax = c.nested_absmax;
    job.nested_map = c.nested_map;
    job.nested_offset = c.nested_offset;
    job.input = own.product.input;
    job.output = own.product.output;
    job.workspace = own.product.workspace;
    simd.launch(job, {.device = {.multiprocessors = 3}});
    EXPECT_EQ(multiplied(weight, problem.output_type, input), own.output()) << tokens;
  }
}

// With two inputs that are not zero a sum is one rounding of float32; the bias is added before the
// one to the output's type.
TEST(Libnf4Linear, AddsTheBiasBeforeItRounds) {
  constexpr std::int64_t kOutputs = 67;
  constexpr std::int64_t kInputs = 130;
  const HostWeight weight(nf4::make_synthetic({.shape = {kOutputs, kInputs}}));
  for (const OutputType type : nf4::kOutputTypes) {
    for (const std::int64_t tokens : {1, 3, 9}) {
      const std::vector<double> w =
          nf4::to_doubles(type, nf4::reference_dequantize(weight.tensor(), type));
      std::vector<double> x(static_cast<std::size_t>(tokens * kInputs));
      std::vector<double> bias(kOutputs);
      for (std::int64_t n = 0; n < kOutputs; ++n)
        bias[static_cast<std::size_t>(n)] = 1e-3 * n - 0.03;
      const HostBuffer bias_values(nf4::to_values(type, bias));
      bias = nf4::to_doubles(type, bias_values.span());
      std::vector<double> wanted;
      for (std::int64_t m = 0; m < tokens; ++m) {
        const std::int64_t first = (7 * m) % kInputs;
        x[static_cast<std::size_t>(m * kInputs + first)] = 1.0;
        x[static_cast<std::size_t>(m * kInputs + first + 64)] = 1.0;
        for (std::int64_t n = 0; n < kOutputs; ++n) {
          const auto at = static_cast<std::size_t>(n * kInputs + first);
          const float sum = static_cast<float>(w[at]) + static_cast<float>(w[at + 64]);
          wanted.push_back(sum + static_cast<float>(bias[static_cast<std::size_t>(n)]));
        }
      }
      EXPECT_EQ(multiplied(weight, type, nf4::to_values(type, x), bias_values.data()),
                nf4::to_values(type, wanted))
          << to_string(type) << " " << tokens;
    }
  }
}

// Products with several weights side by side in rows of one output, as of a weight in shards; each
// begins where it is aligned.
class SideBySide {
 public:
  SideBySide(const std::vector<HostWeight>& weights, OutputType type, std::int64_t gap)
      : type_(type) {
    const std::int64_t step = 16 / static_cast<std::int64_t>(size_in_bytes(type));
    for (const HostWeight& weight : weights) {
      first_.push_back(stride_);
      stride_ = kernels::block_count(stride_ + weight.c().outputs, step) * step;
    }
    stride_ += gap;
  }

  std::int64_t stride() const { return stride_; }
  std::size_t offset(std::size_t shard, std::int64_t token = 0) const {
    return static_cast<std::size_t>(token * stride_ + first_[shard]) * size_in_bytes(type_);
  }

 private:
  OutputType type_;
  std::vector<std::int64_t> first_;
  std::int64_t stride_ = 0;
};

TEST(Libnf4Linear, WritesIntoSlicesOfRowsAndNothingElse) {
  std::vector<HostWeight> weights;
  for (const std::int64_t outputs : {40, 37, 1}) {
    weights.emplace_back(nf4::make_synthetic({.shape = {outputs, 258}}));
  }
  const nf4_device device = cpu_device();
  for (const OutputType type : nf4::kOutputTypes) {
    for (const std::int64_t tokens : {1, 2, 4, 5, 515}) {
      for (const std::int64_t gap : {0, 7}) {
        const SideBySide places(weights, type, gap);
        const std::vector<std::byte> input =
            activations(problem_of(weights[0].tensor(), type, tokens));
        const std::size_t bytes =
            static_cast<std::size_t>(tokens * places.stride()) * size_in_bytes(type);
        const HostBuffer all(bytes);
        std::vector<std::byte> expected(all.span().begin(), all.span().end());
        for (std::size_t shard = 0; shard < weights.size(); ++shard) {
          const nf4_weight c = weights[shard].c();
          HostProduct host(c, type, input);
          host.product.output = all.data() + places.offset(shard);
          host.product.output_stride = places.stride();
          ASSERT_EQ(nf4_linear(&device, &c, &host.product, nullptr), NF4_OK);
          const std::vector<std::byte> rows = multiplied(weights[shard], type, input);
          const std::size_t row = rows.size() / static_cast<std::size_t>(tokens);
          for (std::int64_t m = 0; m < tokens; ++m) {
            std::copy_n(rows.data() + static_cast<std::size_t>(m) * row, row,
                        expected.data() + places.offset(shard, m));
          }
        }
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.data()))
            << to_string(type) << ", " << tokens << " tokens, " << gap;
      }
    }
  }
}

// A row of the output may be the last thing in its memory.
TEST(Libnf4Linear, WritesNoGapBehindTheLastRow) {
  const HostWeight weight(nf4::make_synthetic({.shape = {48, 130}}));
  const nf4_weight c = weight.c();
  const nf4_device device = cpu_device();
  for (const std::int64_t tokens : {1, 3, 40}) {
    const std::vector<std::byte> input =
        activations(problem_of(weight.tensor(), OutputType::kFloat32, tokens));
    HostProduct host(c, OutputType::kFloat32, input);
    const HostBuffer exact(static_cast<std::size_t>((tokens - 1) * 100 + 48) * sizeof(float));
    host.product.output = exact.data();
    host.product.output_stride = 100;
    ASSERT_EQ(nf4_linear(&device, &c, &host.product, nullptr), NF4_OK);
    const std::vector<std::byte> rows = multiplied(weight, OutputType::kFloat32, input);
    EXPECT_TRUE(std::equal(rows.end() - 48 * sizeof(float), rows.end(),
                           exact.data() + exact.span().size() - 48 * sizeof(float)))
        << tokens;
  }
}

TEST(Libnf4Linear, TakesAnyNumberOfThreads) {
  const HostWeight weight(nf4::make_synthetic({.shape = {129, 257}}));
  const kernels::Problem problem = problem_of(weight.tensor(), OutputType::kFloat16, 7);
  const std::vector<std::byte> input = activations(problem);
  const std::vector<std::byte> expected = multiplied(weight, problem.output_type, input);
  const nf4_weight c = weight.c();
  for (const int threads : {1, 3, 200}) {
    const nf4_device device = cpu_device(threads);
    HostProduct host(c, problem.output_type, input);
    EXPECT_EQ(nf4_linear(&device, &c, &host.product, nullptr), NF4_OK);
    EXPECT_EQ(host.output(), expected) << threads;
  }
}

TEST(Libnf4Threads, MayCallAtOnce) {
  const HostWeight weight(nf4::make_synthetic({.shape = {300, 1024}}));
  const kernels::Problem problem = problem_of(weight.tensor(), OutputType::kBfloat16, 6);
  const std::vector<std::byte> input = activations(problem);
  const std::vector<std::byte> product = multiplied(weight, problem.output_type, input);
  const std::vector<std::byte> values =
      nf4::reference_dequantize(weight.tensor(), OutputType::kBfloat16);
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      for (int call = 0; call < 20; ++call) {
        EXPECT_EQ(multiplied(weight, problem.output_type, input), product);
        EXPECT_EQ(decoded(weight, problem.output_type), values);
      }
    });
  }
}

}  // namespace
}  // namespace nf4bench::test
