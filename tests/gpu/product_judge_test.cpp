// The judge of matrix products on the device says what the host's says, and so of products that are
// wrong in ways that real kernels are.

#include "gpu_fixture.hpp"
#include "nf4/random.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"
#include "operation/judge.hpp"
#include "operation/matmul.hpp"
#include "operation/product_run.hpp"
#include "operation/weight.hpp"
#include "product_controls.hpp"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace nf4bench {
namespace {

using nf4::OutputType;
using testing::HasSubstr;

class ProductJudge : public GpuTest {
 protected:
  // One token through a weight of so many outputs, in float32.
  static std::unique_ptr<device::Workload> one_token(std::int64_t outputs) {
    const nf4::Nf4Tensor weight = nf4::make_synthetic({.shape = {outputs, 64}});
    kernels::Problem problem = operation::problem_of(weight, OutputType::kFloat32);
    problem.tokens = 1;
    const std::vector<std::byte> input(64 * sizeof(float));
    return device_->upload(
        operation::make_work(operation::matmul(), {.tensor = weight, .input = input}, problem),
        device::UploadPurpose::kVerify);
  }
};

// A variant that copies `bytes`, owned by the caller, to the output.
kernels::Variant forging(const std::vector<std::byte>& bytes) {
  kernels::Variant variant;
  variant.name = "forged";
  variant.launch = [&bytes](const kernels::Job& job, const kernels::Launch& launch) {
    cudaMemcpyAsync(job.output, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, launch.stream);
  };
  return variant;
}

// Bounds at the ends of a type and values around them: right, rounded, wrong, out of range, none.
struct Cases {
  std::vector<kernels::ProductBound> bounds;
  std::vector<double> values;
};

Cases make_cases(OutputType type, std::size_t count) {
  const nf4::RandomStream words(7, 7);
  const double infinity = std::numeric_limits<double>::infinity();
  const double ends[] = {0.0,      1.0,       -3.0,
                         1e-3,     65500.0,   nf4::largest(type),
                         infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                         1e39,     -0.0,      nf4::smallest_step(type)};
  const double steps[] = {0.0, 0.5, 0.99, 1.01, 1.5, -0.99, -1.01, 4.0, 1e6};
  Cases cases;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t word = words.at(static_cast<std::int64_t>(i));
    const double value =
        i % 3 == 0 ? ends[word % std::size(ends)] : nf4::normal_quantile(nf4::to_unit(word)) * 10.0;
    const auto exact = static_cast<float>(nf4::unit_roundoff(type) * (1.0 + std::fabs(value)));
    const float bound = std::isfinite(exact) ? exact : 1.0f;
    const float rounded = bound * static_cast<float>(1 + (word >> 8) % 3);
    cases.bounds.push_back({value, bound, rounded});
    const std::uint64_t other = words.at(-1 - static_cast<std::int64_t>(i));
    const bool is_odd = other % 16 == 0;
    const double step = steps[(other >> 8) % std::size(steps)];
    const double base = std::isfinite(value) ? value : 1.0;
    cases.values.push_back(is_odd ? ends[(other >> 16) % std::size(ends)] : base + step * bound);
  }
  return cases;
}

TEST_F(ProductJudge, SaysWhatTheHostSays) {
  for (const OutputType type : nf4::kOutputTypes) {
    const nf4::Nf4Tensor weight = nf4::make_synthetic({.shape = {1031, 64}});
    kernels::Problem problem = operation::problem_of(weight, type);
    problem.tokens = 33;
    const auto count = static_cast<std::size_t>(problem.tokens * problem.outputs);
    const std::vector<std::byte> input(count * 64);
    const auto workload = device_->upload(
        operation::make_work(operation::matmul(), {.tensor = weight, .input = input}, problem),
        device::UploadPurpose::kVerify);
    const Cases cases = make_cases(type, count);
    for (const std::size_t some : {count, count / 2 + 1, std::size_t{1}}) {
      const auto bounds = std::span(cases.bounds).first(some);
      const std::vector<std::byte> output = nf4::to_values(type, cases.values);
      const auto start = std::span(output).first(some * nf4::size_in_bytes(type));
      const record::Verification host = operation::compare_products(type, bounds, start);
      const record::Verification device = workload->verify(forging(output), std::as_bytes(bounds));
      EXPECT_EQ(device.compared, host.compared);
      EXPECT_EQ(device.mismatches, host.mismatches);
      EXPECT_EQ(device.first_mismatch, host.first_mismatch);
      ASSERT_TRUE(host.accuracy && device.accuracy);
      EXPECT_EQ(device.accuracy->weights, host.accuracy->weights);
      EXPECT_NEAR(device.accuracy->rms_error, host.accuracy->rms_error,
                  1e-9 * host.accuracy->rms_error);
      EXPECT_NEAR(device.accuracy->max_error, host.accuracy->max_error,
                  1e-9 * host.accuracy->max_error);
      if (some > 1) {
        EXPECT_GT(host.mismatches, 0);
        EXPECT_LT(host.mismatches, host.compared);
      }
    }
  }
}

// Where a reference lay there may be another one by now.
TEST_F(ProductJudge, HoldsOutputsToNoReferenceThatItWasToForget) {
  const auto workload = one_token(64);
  std::vector<kernels::ProductBound> bounds(64);
  for (const double value : {1.0, 2.0}) {
    std::fill(bounds.begin(), bounds.end(), kernels::ProductBound{value, 0.0f, 0.0f});
    workload->forget_references();
    const std::vector<std::byte> output =
        nf4::to_values(OutputType::kFloat32, std::vector<double>(64, value));
    EXPECT_EQ(workload->verify(forging(output), std::as_bytes(std::span(bounds))).mismatches, 0);
  }
}

// Only with what is right there is a class to tell.
TEST_F(ProductJudge, TellsClassesApart) {
  for (const float off : {0.0f, 1.5f, 2.5f}) {
    const std::vector<kernels::ProductBound> bounds(1000, {100.0, 1.0f, 2.0f});
    std::vector<double> values(1000, 100.0);
    values[999] += off;
    const auto workload = one_token(1000);
    const auto found = workload->verify(forging(nf4::to_values(OutputType::kFloat32, values)),
                                        std::as_bytes(std::span(bounds)));
    EXPECT_EQ(found.passed(), off < 2.0f);
    EXPECT_EQ(found.accuracy->weights,
              off == 0.0f ? record::WeightClass::kExact : record::WeightClass::kRounded);
  }
}

struct Control {
  const char* name;
  const char* reason;  // of a failure; empty for what is right
  record::WeightClass weights = record::WeightClass::kExact;
};

constexpr Control kControls[] = {
    {"right", ""},
    {"backwards", ""},
    {"split", ""},
    {"rounded_weights", "", record::WeightClass::kRounded},
    {"sums_in_16_bits", "further from the truth"},
    {"next_scale", "with one input at a time"},
    {"fp8_weights", "with one input at a time"},
    {"fp8_activations", "further from the truth"},
    {"one_weight", "with one input at a time"},
    {"without_last_block", "with one input at a time"},
    {"swapped_columns", "with one input at a time"},
    {"transposed", "with one input at a time"},
    {"without_nan", "with NaN at input"},
    {"half_in_graphs", "are not written"},
};

void expect(const Control& control, const record::Measurement& row) {
  SCOPED_TRACE(std::string(control.name) + " " + to_string(row.cell.output_type));
  if (*control.reason != '\0') {
    EXPECT_EQ(row.status, record::Status::kFailed);
    EXPECT_THAT(row.reason, HasSubstr(control.reason));
    return;
  }
  EXPECT_EQ(row.status, record::Status::kPassed) << row.reason;
  ASSERT_TRUE(row.verification && row.verification->accuracy);
  EXPECT_EQ(row.verification->accuracy->weights, control.weights);
}

class ProductControls : public GpuTest {};

TEST_F(ProductControls, AreFailedOrPassedAsOnTheHost) {
  const kernels::Catalog catalog = {
      .variants = test::product_controls(),
      .stream_shapes = {},
      .flagship = "right",
      .default_baseline = "right",
      .judge = operation::matmul().catalog(device_->info().kind).judge};
  for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
    const auto rows = test::run_products(*device_, catalog, {32, 32, 2048, type});
    for (const Control& control : kControls) {
      ASSERT_TRUE(rows.contains(control.name)) << control.name;
      expect(control, rows.at(control.name));
    }
  }
}

// Columns that no block divides, and tokens that no tile does.
TEST_F(ProductControls, BuiltInGradientsPassEveryProbeWithExactWeights) {
  const kernels::Catalog& catalog = operation::backward().catalog(device_->info().kind);
  for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
    for (const std::int64_t tokens : {1, 17}) {
      const auto rows = test::run_products(
          *device_, catalog,
          {.tokens = tokens, .outputs = 512, .inputs = 330, .type = type, .is_backward = true});
      EXPECT_EQ(rows.size(), catalog.variants.size());
      for (const auto& [name, row] : rows) {
        if (row.status == record::Status::kSkipped) continue;  // without cuBLAS
        EXPECT_EQ(row.status, record::Status::kPassed) << name << ": " << row.reason;
        ASSERT_TRUE(row.verification && row.verification->accuracy) << name;
        EXPECT_EQ(row.verification->accuracy->weights, record::WeightClass::kExact) << name;
      }
    }
  }
}

// Whole blocks of columns, which the kernel that never decodes into memory needs; few tokens, many,
// and more than its largest tile.
TEST_F(ProductControls, FusedGradientsPassEveryProbe) {
  const kernels::Catalog& catalog = operation::backward().catalog(device_->info().kind);
  for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
    for (const std::int64_t tokens : {1, 40, 150, 300}) {
      const auto rows = test::run_products(
          *device_, catalog,
          {.tokens = tokens, .outputs = 576, .inputs = 704, .type = type, .is_backward = true});
      for (const char* name : {"wgmma_decode", "mma_ring", "fused"}) {
        const auto& row = rows.at(name);
        if (row.status == record::Status::kSkipped) continue;  // before Hopper, or without cuBLAS
        EXPECT_EQ(row.status, record::Status::kPassed) << name << ": " << row.reason;
      }
    }
  }
}

// On another stream, behind a kernel that takes its time.
TEST_F(ProductControls, ThatAreWrittenLateAreSeen) {
  const nf4::Nf4Tensor weight = nf4::make_synthetic({.shape = {512, 512}});
  const nf4::Nf4Tensor sibling = operation::negated(weight);
  kernels::Problem problem = operation::problem_of(weight, OutputType::kBfloat16);
  problem.tokens = 2;
  const auto input = operation::make_activations(problem, record::Activations::kNormal, 1);
  const auto reference = [&](const nf4::Nf4Tensor& of) {
    return operation::matmul().reference(of, problem, input,
                                         std::numeric_limits<std::int64_t>::max());
  };
  const std::vector<std::byte> own = reference(weight);
  const std::vector<std::byte> other = reference(sibling);
  const auto workload = device_->upload(
      operation::make_work(operation::matmul(),
                           {.tensor = weight, .sibling = &sibling, .input = input}, problem),
      device::UploadPurpose::kTime);
  const device::SampleSpec spec = {record::CacheMode::kCold, record::LaunchMode::kStream, 1};
  const kernels::Variant right = test::product_controls().front();
  EXPECT_TRUE(workload->verify(right, own).passed());
  EXPECT_FALSE(workload->judged_sample(right, spec, {own, other}).fault);
  const kernels::Variant late = test::late_product();
  EXPECT_TRUE(workload->verify(late, own).passed());
  const auto fault = workload->judged_sample(late, spec, {own, other}).fault;
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, device::FaultKind::kLate);
  EXPECT_GT(fault->elements, 0);
}

}  // namespace
}  // namespace nf4bench
