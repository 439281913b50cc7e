#include "catalog.hpp"
#include "cpu/simd_target.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"
#include "operation/judge.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace nf4bench {
namespace {

constexpr std::byte kPoison{0xeb};
constexpr std::size_t kCanary = 64;  // bytes behind a buffer that nobody may write

struct Shape {
  std::int64_t tokens;
  std::int64_t outputs;
  std::int64_t inputs;
  bool transposed = false;
};

// A product with an NF4 weight, computed by a variant.
class Product {
 public:
  Product(const Shape& shape, nf4::SyntheticSpec spec, nf4::OutputType type) {
    spec.shape = {shape.outputs, shape.inputs};
    if (shape.transposed) std::swap(spec.shape[0], spec.shape[1]);
    weight_ = nf4::make_synthetic(spec);
    problem_ = operation::problem_of(weight_, type);
    problem_.tokens = shape.tokens;
    problem_.outputs = shape.outputs;
    problem_.inputs = shape.inputs;
    problem_.transposed = shape.transposed;
    input_ = operation::make_activations(problem_, record::Activations::kNormal, 3);
  }

  nf4::Nf4Tensor& weight() { return weight_; }
  const kernels::Problem& problem() const { return problem_; }
  std::vector<std::byte>& input() { return input_; }

  std::vector<std::byte> output_of(const kernels::Variant& variant) const {
    const std::size_t bytes = static_cast<std::size_t>(problem_.tokens * problem_.outputs) *
                              nf4::size_in_bytes(problem_.output_type);
    std::vector<std::byte> output(bytes + kCanary, kPoison);
    const auto scratch = static_cast<std::size_t>(workspace_of(variant, problem_, {}));
    std::vector<std::byte> workspace(scratch + kCanary, kPoison);
    variant.launch(job(output.data(), workspace.data()), {.device = {.multiprocessors = 2}});
    for (std::size_t i = 0; i < kCanary; ++i) {
      EXPECT_EQ(output[bytes + i], kPoison) << variant.name;
      EXPECT_EQ(workspace[scratch + i], kPoison) << variant.name;
    }
    output.resize(bytes);
    return output;
  }

  record::Verification judge(const std::vector<std::byte>& output) const {
    const auto truth = operation::product_truth(weight_, problem_, input_,
                                                std::numeric_limits<std::int64_t>::max());
    return operation::compare_products(
        problem_.output_type, operation::bounds_of({problem_.output_type, problem_.inputs}, truth),
        output);
  }

 private:
  kernels::Job job(std::byte* output, std::byte* workspace) const {
    kernels::Job job;
    static_cast<kernels::Problem&>(job) = problem_;
    job.packed = weight_.packed.data();
    job.absmax = weight_.absmax.data();
    job.absmax_codes = weight_.absmax_codes.data();
    job.nested_absmax = weight_.nested_absmax.data();
    job.nested_map = weight_.nested_map.data();
    job.nested_offset = &weight_.nested_offset;
    job.input = input_.data();
    job.output = output;
    job.workspace = workspace;
    return job;
  }

  nf4::Nf4Tensor weight_;
  kernels::Problem problem_;
  std::vector<std::byte> input_;
};

class CpuMatmul : public ::testing::TestWithParam<kernels::Variant> {
 protected:
  void SetUp() override {
    const char* const reason = why_unsupported(GetParam(), {}, {});
    if (reason != nullptr) GTEST_SKIP() << reason;
  }

  static void expect_exact(const Shape& shape) {
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      const Product product(shape, {}, type);
      const record::Verification found = product.judge(product.output_of(GetParam()));
      SCOPED_TRACE(::testing::Message() << shape.tokens << "x" << shape.outputs << "x"
                                        << shape.inputs << " " << to_string(type));
      EXPECT_TRUE(found.passed()) << operation::describe_error(found);
      EXPECT_EQ(found.accuracy->weights, record::WeightClass::kExact);
    }
  }
};

// Blocks that straddle rows, rows that begin in the middle of a byte, and lengths that no vector
// and no stretch divides.
TEST_P(CpuMatmul, UsesExactWeightsWhateverTheShape) {
  const Shape shapes[] = {{1, 1, 1},     {1, 3, 2},      {2, 5, 63},     {1, 4, 64},
                          {3, 7, 33},    {5, 9, 130},    {1, 2, 2050},   {4, 6, 2049},
                          {17, 11, 342}, {1, 1280, 342}, {8, 33, 4097},  {2, 37, 2050},
                          {3, 65, 640},  {4, 9, 4160},   {33, 40, 2500}, {512, 35, 96}};
  for (const Shape& shape : shapes) expect_exact(shape);
}

// Also more outputs, inputs and tokens than are decoded and summed at once.
TEST_P(CpuMatmul, UsesExactWeightsThatLieTransposed) {
  const Shape shapes[] = {{1, 1, 1, true},      {1, 2, 3, true},     {2, 63, 5, true},
                          {1, 64, 4, true},     {3, 33, 7, true},    {5, 130, 9, true},
                          {1, 2050, 2, true},   {4, 257, 65, true},  {17, 342, 11, true},
                          {1, 300, 1280, true}, {70, 513, 40, true}, {2, 640, 2100, true}};
  for (const Shape& shape : shapes) expect_exact(shape);
}

TEST_P(CpuMatmul, KnowsAllBlocksizesAndPlainScales) {
  for (int blocksize = nf4::kMinBlocksize; blocksize <= nf4::kMaxBlocksize; blocksize *= 2) {
    for (const auto kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
      const Product product({2, 5, 1100},
                            {.shape = {}, .blocksize = blocksize, .absmax_kind = kind},
                            nf4::OutputType::kBfloat16);
      const record::Verification found = product.judge(product.output_of(GetParam()));
      EXPECT_TRUE(found.passed()) << blocksize << ": " << operation::describe_error(found);
      EXPECT_EQ(found.accuracy->weights, record::WeightClass::kExact) << blocksize;
    }
  }
}

// Zero blocks, subnormal and overflowing scales: a one-hot input shows each weight alone.
TEST_P(CpuMatmul, DecodesEveryWeightToItsBits) {
  constexpr std::int64_t kInputs = 320;
  for (const std::int64_t tokens : {std::int64_t{16}, std::int64_t{2}}) {
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      Product product({tokens, 6, kInputs},
                      {.shape = {}, .distribution = nf4::Distribution::kExtremes}, type);
      const std::vector<double> weights =
          nf4::to_doubles(type, nf4::reference_dequantize(product.weight(), type));
      for (std::int64_t first = 0; first < kInputs; first += tokens) {
        std::vector<double> one_hot(static_cast<std::size_t>(tokens * kInputs));
        for (std::int64_t m = 0; m < tokens; ++m) {
          one_hot[static_cast<std::size_t>(m * kInputs + first + m)] = 1.0;
        }
        product.input() = nf4::to_values(type, one_hot);
        const std::vector<double> y = nf4::to_doubles(type, product.output_of(GetParam()));
        for (std::int64_t m = 0; m < tokens; ++m) {
          for (std::int64_t n = 0; n < 6; ++n) {
            const double got = y[static_cast<std::size_t>(m * 6 + n)];
            const double wanted = weights[static_cast<std::size_t>(n * kInputs + first + m)];
            if (std::isnan(got)) continue;  // infinity elsewhere in the row times zero
            EXPECT_EQ(got, wanted) << to_string(type) << " row " << n << " input " << first + m;
          }
        }
      }
    }
  }
}

// A few tokens, many, and rows that begin in the middle of a byte.
TEST(CpuMatmulSimd, EveryInstructionSetMultipliesWithExactWeights) {
  const kernels::Variant simd = kernels::cpu::matmul().variants.back();
  ASSERT_EQ(simd.name, std::string("simd"));
  for (std::int64_t bits = hwy::SupportedTargets(); bits != 0; bits &= bits - 1) {
    hwy::SetSupportedTargetsForTest(bits & -bits);
    SCOPED_TRACE(kernels::cpu::simd_target());
    for (const Shape& shape : {Shape{1, 9, 330}, Shape{3, 9, 330}, Shape{7, 9, 330},
                               Shape{2, 9, 333}, Shape{3, 330, 35, true}, Shape{7, 333, 9, true}}) {
      for (const nf4::OutputType type : nf4::kOutputTypes) {
        const Product product(shape, {}, type);
        const record::Verification found = product.judge(product.output_of(simd));
        EXPECT_TRUE(found.passed()) << shape.tokens << ": " << operation::describe_error(found);
        EXPECT_EQ(found.accuracy->weights, record::WeightClass::kExact) << shape.tokens;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

INSTANTIATE_TEST_SUITE_P(Variants, CpuMatmul, ::testing::ValuesIn(kernels::cpu::matmul().variants),
                         [](const auto& variant) { return std::string(variant.param.name); });

}  // namespace
}  // namespace nf4bench
