#include "device/devices.hpp"
#include "nf4/arithmetic.hpp"
#include "nf4/reference.hpp"
#include "nf4/values.hpp"
#include "operation/matmul.hpp"
#include "operation/product_run.hpp"
#include "operation/product_truth.hpp"
#include "operation/weight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace nf4bench {
namespace {

using kernels::Job;
using nf4::OutputType;
using testing::HasSubstr;

constexpr auto kType = OutputType::kBfloat16;

// Of a layer of these sizes, with three tokens.
kernels::Problem problem_of(const nf4::Nf4Tensor& weight) {
  record::RunOptions options;
  options.tokens = {3};
  const auto problems =
      operation::backward().problems(operation::problem_of(weight, kType), options);
  EXPECT_EQ(problems.size(), 1u);
  return problems.front();
}

TEST(Backward, MultipliesRowsOfTheLayersOutputsAndGivesThoseOfItsInputs) {
  const kernels::Problem problem = problem_of(nf4::make_synthetic({.shape = {96, 160}}));
  EXPECT_EQ(problem.tokens, 3);
  EXPECT_EQ(problem.inputs, 96);
  EXPECT_EQ(problem.outputs, 160);
  const operation::Traffic traffic = operation::backward().traffic(problem);
  EXPECT_EQ(traffic.bytes_written, 3 * 160 * 2);
  EXPECT_EQ(traffic.bytes_read, operation::weight_bytes(problem) + 3 * 96 * 2);
  EXPECT_EQ(traffic.flops, 2.0 * 3 * 96 * 160);
  const auto input = operation::call_input(operation::backward(), problem, {});
  EXPECT_EQ(input.size(), 3u * 96 * 2);
}

struct Shape {
  std::int64_t outputs;
  std::int64_t inputs;
};

// Columns of weights that have a block each, share one, and straddle them.
TEST(Backward, TruthIsTheSumOverDecodedColumns) {
  for (const Shape& shape : {Shape{96, 160}, Shape{50, 8}, Shape{40, 33}, Shape{3, 1}}) {
    const nf4::Nf4Tensor weight = nf4::make_synthetic({.shape = {shape.outputs, shape.inputs}});
    const kernels::Problem problem = problem_of(weight);
    const auto input = operation::call_input(operation::backward(), problem, {});
    const auto found =
        operation::product_truth(weight, problem, input, std::numeric_limits<std::int64_t>::max());
    const std::vector<double> w = nf4::to_doubles(kType, nf4::reference_dequantize(weight, kType));
    const std::vector<double> dy = nf4::to_doubles(kType, input);
    ASSERT_EQ(found.size(), static_cast<std::size_t>(3 * shape.inputs));
    for (std::int64_t i = 0; i < 3 * shape.inputs; ++i) {
      double value = 0.0;
      double squares = 0.0;
      for (std::int64_t n = 0; n < shape.outputs; ++n) {
        const double product = dy[static_cast<std::size_t>(i / shape.inputs * shape.outputs + n)] *
                               w[static_cast<std::size_t>(n * shape.inputs + i % shape.inputs)];
        value += product;
        squares += product * product;
      }
      const operation::ProductTruth& truth = found[static_cast<std::size_t>(i)];
      EXPECT_NEAR(truth.value, value, 1e-14 * std::sqrt(squares)) << i;
      EXPECT_GE(truth.reach, std::sqrt(squares) * (1.0 - 1e-14)) << i;
      EXPECT_GE(truth.spread, std::sqrt(2.0 * squares) * (1.0 - 1e-14)) << i;
      EXPECT_LE(truth.spread, 10.0 * std::sqrt(squares)) << i;
    }
  }
}

// Scales of weights that were rounded err together within a block, however it lies in a column.
TEST(Backward, WeightsOfOneBlockInAColumnErrTogether) {
  constexpr std::int64_t kOutputs = 32;
  const auto spread_of = [](std::int64_t inputs) {
    nf4::Nf4Tensor weight = nf4::make_synthetic({.shape = {kOutputs, inputs}});
    std::fill(weight.packed.begin(), weight.packed.end(), std::uint8_t{0xff});
    const kernels::Problem problem = problem_of(weight);
    const auto ones =
        nf4::to_values(kType, std::vector<double>(static_cast<std::size_t>(3 * kOutputs), 1.0));
    const operation::ProductTruth truth =
        operation::product_truth(weight, problem, ones, 1).front();
    return truth.spread / truth.value;
  };
  EXPECT_GT(spread_of(2), 0.99);  // all in one block
  EXPECT_LT(spread_of(64), 0.5);  // of 32 blocks
}

float exact_weight(const Job& job, std::int64_t element) {
  const unsigned pair = job.packed[element / 2];
  const auto code = static_cast<int>(element % 2 == 0 ? pair >> 4 : pair & 15u);
  const std::int64_t block = element >> job.block_shift;
  const float scale = nf4::nested_scale(job.nested_map[job.absmax_codes[block]],
                                        job.nested_absmax[block / 256], *job.nested_offset);
  return nf4::from_bfloat16_bits(
      nf4::to_bfloat16_bits(nf4::multiply_flushed(nf4::codebook_value(code), scale)));
}

// The weight that a product reads for layer output `k` and layer input `n`.
using Reader = std::function<float(const Job& job, std::int64_t n, std::int64_t k)>;

float right_weight(const Job& job, std::int64_t n, std::int64_t k) {
  return exact_weight(job, k * job.outputs + n);
}

float activation_at(const Job& job, std::int64_t index) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(job.input) + index * 2, sizeof(bits));
  return nf4::from_bfloat16_bits(bits);
}

// The row of a product that reads like this, of a layer 64x192 or of other sizes.
record::Measurement row_of(const Reader& read, const Shape& layer = {64, 192}) {
  kernels::Variant variant;
  variant.name = "mine";
  variant.launch = [&read](const Job& job, const kernels::Launch&) {
    std::vector<float> w;
    for (std::int64_t i = 0; i < job.elements; ++i) {
      w.push_back(read(job, i / job.inputs, i % job.inputs));
    }
    for (std::int64_t i = 0; i < job.tokens * job.outputs; ++i) {
      float sum = 0.0f;
      for (std::int64_t k = 0; k < job.inputs; ++k) {
        sum += activation_at(job, i / job.outputs * job.inputs + k) *
               w[static_cast<std::size_t>(i % job.outputs * job.inputs + k)];
      }
      const std::uint16_t bits = nf4::to_bfloat16_bits(sum);
      std::memcpy(static_cast<std::byte*>(job.output) + i * 2, &bits, sizeof(bits));
    }
  };
  const kernels::Catalog catalog = {
      .variants = {variant}, .stream_shapes = {}, .flagship = "mine", .default_baseline = "mine"};
  const auto device = device::open_cpu_device({.config = "", .threads = 1});
  return test::run_products(*device, catalog,
                            {.tokens = 5,
                             .outputs = layer.outputs,
                             .inputs = layer.inputs,
                             .type = kType,
                             .is_backward = true})["mine"];
}

void expect_failed(const Reader& read, const std::string& reason, const Shape& layer = {64, 192}) {
  const record::Measurement row = row_of(read, layer);
  EXPECT_EQ(row.status, record::Status::kFailed);
  EXPECT_THAT(row.reason, HasSubstr(reason));
  EXPECT_FALSE(row.time_s);
}

TEST(BackwardControls, ColumnsReadOneByOneAreExact) {
  const record::Measurement row = row_of(right_weight);
  EXPECT_EQ(row.status, record::Status::kPassed) << row.reason;
  ASSERT_TRUE(row.verification && row.verification->accuracy);
  EXPECT_EQ(row.verification->accuracy->weights, record::WeightClass::kExact);
  EXPECT_EQ(row.verification->accuracy->inputs->alone, 64);
  EXPECT_EQ(row.verification->compared, 5 * 192);
}

TEST(BackwardControls, RowsInThePlaceOfColumnsAreFailed) {
  const auto read = [](const Job& job, std::int64_t n, std::int64_t k) {
    return exact_weight(job, n * job.inputs + k);
  };
  expect_failed(read, "with one input at a time", {64, 64});
}

TEST(BackwardControls, TheScaleOfTheNextRowIsFailed) {
  const auto read = [](const Job& job, std::int64_t n, std::int64_t k) {
    const float exact = right_weight(job, n, k);
    const std::int64_t element = k * job.outputs + n;
    const std::int64_t other = (element + job.outputs) % job.elements;
    const auto scale = [&](std::int64_t at) {
      const std::int64_t block = at >> job.block_shift;
      return nf4::nested_scale(job.nested_map[job.absmax_codes[block]],
                               job.nested_absmax[block / 256], *job.nested_offset);
    };
    return exact / scale(element) * scale(other);
  };
  expect_failed(read, "with one input at a time");
}

TEST(BackwardControls, OneWeightThatIsAnotherIsFailed) {
  const auto read = [](const Job& job, std::int64_t n, std::int64_t k) {
    return right_weight(job, n == 131 && k == 7 ? 132 : n, k);
  };
  expect_failed(read, "with one input at a time");
}

TEST(BackwardControls, AnInfiniteScaleThatIsClampedIsFailed) {
  const auto read = [](const Job& job, std::int64_t n, std::int64_t k) {
    const float exact = right_weight(job, n, k);
    return std::isfinite(exact) ? exact : 0.0f;
  };
  expect_failed(read, "with an infinite scale");
}

// Columns that no vector, panel or block divides.
TEST(BuiltInBackward, PassesEveryProbeWithExactWeights) {
  const auto device = device::open_cpu_device({.config = "", .threads = 2});
  const kernels::Catalog& catalog = kernels::cpu::backward();
  for (const std::int64_t tokens : {1, 3, 17}) {
    for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
      for (const Shape& layer : {Shape{342, 13}, Shape{13, 342}}) {
        const auto rows = test::run_products(*device, catalog,
                                             {.tokens = tokens,
                                              .outputs = layer.outputs,
                                              .inputs = layer.inputs,
                                              .type = type,
                                              .is_backward = true});
        EXPECT_EQ(rows.size(), catalog.variants.size());
        for (const auto& [name, row] : rows) {
          if (row.status == record::Status::kSkipped) continue;  // without a BLAS library
          EXPECT_EQ(row.status, record::Status::kPassed) << name << ": " << row.reason;
          ASSERT_TRUE(row.verification && row.verification->accuracy) << name;
          EXPECT_EQ(row.verification->accuracy->weights, record::WeightClass::kExact) << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace nf4bench
