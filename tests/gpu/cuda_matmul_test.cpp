// Every CUDA variant of the matrix product, on shapes and numbers of tokens that no tile divides.
// The buffers end exactly where their content does, so that a memory checker sees any access past
// them.

#include "gpu_fixture.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"
#include "operation/judge.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench {
namespace {

// A product of any number of tokens up to `most_tokens`: the first tokens are the same for all. Of
// operation::backward(), the weight lies transposed.
class Product {
 public:
  Product(const nf4::SyntheticSpec& spec, nf4::OutputType type, std::int64_t most_tokens,
          const operation::Operation& operation = operation::matmul())
      : operation_(&operation),
        weight_(nf4::make_synthetic(spec)),
        problem_(operation::problem_of(weight_, type)) {
    problem_.tokens = most_tokens;
    if (&operation == &operation::backward()) {
      std::swap(problem_.outputs, problem_.inputs);
      problem_.transposed = true;
    }
    input_ = operation::make_activations(problem_, record::Activations::kNormal, 3);
  }

  std::unique_ptr<device::Workload> upload(device::Device& device, std::int64_t tokens) const {
    return device.upload(
        operation::make_work(*operation_, {weight_, nullptr, input(tokens)}, problem(tokens)),
        device::UploadPurpose::kVerify);
  }

  // What outputs of the first tokens are held to.
  std::span<const std::byte> expected(std::int64_t tokens) {
    if (truth_.empty()) {
      truth_ = operation_->reference(weight_, problem_, input_,
                                     std::numeric_limits<std::int64_t>::max());
    }
    const std::size_t a_token = truth_.size() / static_cast<std::size_t>(problem_.tokens);
    return std::span(truth_).first(a_token * static_cast<std::size_t>(tokens));
  }

  const operation::Operation& operation() const { return *operation_; }
  nf4::Nf4Tensor& weight() { return weight_; }
  std::vector<std::byte>& all_input() { return input_; }
  kernels::Problem problem() const { return problem_; }
  kernels::Problem problem(std::int64_t tokens) const {
    kernels::Problem problem = problem_;
    problem.tokens = tokens;
    return problem;
  }

 private:
  std::span<const std::byte> input(std::int64_t tokens) const {
    const std::size_t bytes = static_cast<std::size_t>(tokens * problem_.inputs) *
                              nf4::size_in_bytes(problem_.output_type);
    return std::span(input_).first(bytes);
  }

  const operation::Operation* operation_;
  nf4::Nf4Tensor weight_;
  kernels::Problem problem_;
  std::vector<std::byte> input_;
  std::vector<std::byte> truth_;
};

class CudaMatmul : public GpuTest {
 protected:
  static const std::vector<kernels::Variant>& variants() {
    return operation::matmul().catalog(device_->info().kind).variants;
  }

  static const kernels::Variant& variant(std::string_view name) {
    return *std::find_if(variants().begin(), variants().end(),
                         [&](const kernels::Variant& each) { return each.name == name; });
  }

  static const kernels::Variant& flagship() {
    return variant(operation::matmul().catalog(device_->info().kind).flagship);
  }

  void SetUp() override {
    GpuTest::SetUp();
    runs_.clear();
  }

  // Which every kernel runs on.
  static bool is_hopper() { return device_->info().compute_capability == 90; }

  // Runs every variant that can do it.
  static void expect_right(Product& product, const std::vector<std::int64_t>& token_counts) {
    for (const std::int64_t tokens : token_counts) {
      const auto workload = product.upload(*device_, tokens);
      for (const kernels::Variant& variant :
           product.operation().catalog(device_->info().kind).variants) {
        if (!workload->unsupported(variant).empty()) continue;
        ++runs_[variant.name];
        const record::Verification found = workload->verify(variant, product.expected(tokens));
        const kernels::Problem problem = product.problem(tokens);
        EXPECT_TRUE(found.passed())
            << variant.name << ", " << tokens << " tokens, "
            << nf4::shape_to_string(product.weight().shape) << ", blocksize "
            << (1 << problem.block_shift) << ", " << to_string(problem.output_type) << ", "
            << (problem.nested ? "nested" : "plain")
            << (problem.transposed ? ", transposed: " : ": ") << operation::describe_error(found);
      }
    }
  }

  static inline std::map<std::string, int> runs_;  // by variant
};

TEST_F(CudaMatmul, IsRightForEveryShapeAndNumberOfTokens) {
  const std::vector<std::vector<std::int64_t>> shapes = {{1280, 3420}, {17, 64},    {1000, 2112},
                                                         {33, 4096},   {132, 1280}, {33, 1280},
                                                         {130, 1088},  {257, 96},   {5, 63}};
  for (const auto& shape : shapes) {
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      for (const auto kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
        for (const int blocksize : {32, 64, 128, 4096}) {
          std::vector<std::int64_t> tokens = {1, 3, 4, 8, 16, 17};
          if (blocksize <= 64) tokens.insert(tokens.end(), {64, 90, 190, 256});
          Product product({.shape = shape, .blocksize = blocksize, .absmax_kind = kind}, type,
                          tokens.back());
          expect_right(product, tokens);
        }
      }
    }
  }
  for (const kernels::Variant& variant : variants()) {
    EXPECT_TRUE(runs_[variant.name] > 0 || !is_hopper()) << variant.name;
  }
  EXPECT_GT(runs_["mma_ring"], 0);
}

// Columns that fill tiles in part, inputs that end within a stage, and tokens that no tile divides.
TEST_F(CudaMatmul, IsRightForWeightsThatLieTransposed) {
  for (const auto& shape :
       std::vector<std::vector<std::int64_t>>{{64, 64}, {320, 192}, {1088, 704}, {4096, 1280}}) {
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      for (const auto kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
        for (const int blocksize : {32, 64, 256}) {
          Product product({.shape = shape, .blocksize = blocksize, .absmax_kind = kind}, type, 300,
                          operation::backward());
          expect_right(product, {1, 7, 16, 33, 130, 300});
        }
      }
    }
  }
  EXPECT_GT(runs_["mma_ring"], 0);
}

// Some scales are beyond what float16 has, others lose digits in it.
TEST_F(CudaMatmul, IsRightForTransposedWeightsWithScalesOfAnyMagnitude) {
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    Product product({.shape = {512, 256}, .absmax_kind = nf4::AbsmaxKind::kPlain}, type, 64,
                    operation::backward());
    std::vector<float>& absmax = product.weight().absmax;
    for (std::size_t i = 0; i < absmax.size(); i += 5) {
      absmax[i] = std::ldexp(absmax[i], static_cast<int>(i / 5 % 12) * 3 - 20);
    }
    absmax[7] = 0.0f;
    absmax[8] = -absmax[8];
    expect_right(product, {3, 16, 64});
  }
  EXPECT_GT(runs_["mma_ring"], 0);
}

TEST_F(CudaMatmul, IsRightForLargeLayers) {
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    // Of the last, an H200 has tiles left when each multiprocessor has had one.
    for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
             {4096, 4096}, {1024, 4096}, {2048, 14336}, {26112, 1024}}) {
      Product product({.shape = shape}, type, 150);
      expect_right(product, {1, 2, 5, 16, 40, 64, 90, 128, 150});
    }
  }
}

// wgmma_decode regroups the activations of these, on an H200; inputs of some end within a stage.
TEST_F(CudaMatmul, IsRightWithRegroupedActivations) {
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    Product wide({.shape = {8191, 4160}}, type, 32);
    expect_right(wide, {17, 32});
    Product whole({.shape = {18944, 3584}}, type, 64);
    expect_right(whole, {57, 64});
  }
}

TEST_F(CudaMatmul, TheFlagshipDoesEveryProblem) {
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    for (const int blocksize : {32, 64}) {
      for (const std::int64_t inputs : {63, 64, 3420}) {
        const Product product({.shape = {48, inputs}, .blocksize = blocksize}, type, 200);
        for (const std::int64_t tokens : {1, 17, 200}) {
          const auto workload = product.upload(*device_, tokens);
          EXPECT_EQ(workload->unsupported(flagship()), "");
        }
      }
    }
  }
}

// Rows that begin anywhere, blocks that end anywhere, and tiles that are mostly empty.
TEST_F(CudaMatmul, TheGeneralKernelDoesEveryShape) {
  const kernels::Variant& table = variant("mma_table");
  const std::vector<std::vector<std::int64_t>> shapes = {
      {1, 1}, {3, 1}, {333, 7}, {129, 33}, {600, 418}, {70, 1282}, {40, 20003}, {20000, 96}};
  for (const auto& shape : shapes) {
    for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
      for (const int blocksize : {32, 256, 4096}) {
        const auto kind = blocksize == 256 ? nf4::AbsmaxKind::kPlain : nf4::AbsmaxKind::kNested;
        Product product({.shape = shape, .blocksize = blocksize, .absmax_kind = kind}, type, 130);
        for (const std::int64_t tokens : {1, 9, 33, 130}) {
          const auto workload = product.upload(*device_, tokens);
          ASSERT_EQ(workload->unsupported(table), "");
          EXPECT_TRUE(workload->verify(table, product.expected(tokens)).passed())
              << nf4::shape_to_string(shape) << ", " << tokens << " tokens, " << blocksize;
        }
      }
    }
  }
}

// A row may end within a block that only the next one has weights with a number in.
TEST_F(CudaMatmul, TheGeneralKernelKeepsScalesInTheirRows) {
  for (const std::int64_t inputs : {63, 96, 200}) {
    Product product({.shape = {100, inputs}, .absmax_kind = nf4::AbsmaxKind::kPlain},
                    nf4::OutputType::kFloat16, 40);
    for (std::size_t i = 3; i < product.weight().absmax.size(); i += 11) {
      product.weight().absmax[i] = i % 2 == 0 ? std::nanf("") : HUGE_VALF;
    }
    for (const std::int64_t tokens : {1, 40}) {
      const auto workload = product.upload(*device_, tokens);
      EXPECT_TRUE(workload->verify(variant("mma_table"), product.expected(tokens)).passed())
          << inputs << " inputs, " << tokens << " tokens";
    }
  }
}

// What a weight may be off by beside the rounding of the output, as a share of its block's absmax.
double share_of_absmax(const std::string& variant, nf4::OutputType type, std::int64_t tokens) {
  if (variant == "mma_linear") return 5.2e-4;
  // The codebook is rounded; with more tokens scales and products are, too.
  if (variant == "wgmma_decode") return tokens <= 32 ? 8e-4 : 3.0 * nf4::unit_roundoff(type);
  if (variant != "mma_ring" && variant != "fused") return 0.0;
  return tokens <= 16 ? 8e-4 : 3.0 * nf4::unit_roundoff(type);
}

// By which share of itself a weight is off before the output is rounded: Turing's tensor cores have
// float16 alone.
double share_of_weight(const std::string& variant, const device::Device& device) {
  const bool is_rounded = variant == "mma_table" && device.info().compute_capability < 80;
  return is_rounded ? nf4::unit_roundoff(nf4::OutputType::kFloat16) : 0.0;
}

// One-hot inputs show weights alone, of each row every `stride`-th.
void expect_weights_alone(device::Device& device, Product product, std::int64_t stride) {
  const kernels::Problem problem = product.problem();
  const nf4::OutputType type = problem.output_type;
  const auto scales = nf4::reference_dequantize(product.weight(), nf4::OutputType::kFloat32);
  const std::vector<double> weights = nf4::to_doubles(nf4::OutputType::kFloat32, scales);
  double absmax = 0.0;
  for (const double weight : weights) absmax = std::max(absmax, std::fabs(weight));
  for (std::int64_t first = 0; first < problem.inputs; first += problem.tokens * stride) {
    const auto input = [&](std::int64_t m) { return (first + m * stride) % problem.inputs; };
    std::vector<double> one_hot(static_cast<std::size_t>(problem.tokens * problem.inputs));
    for (std::int64_t m = 0; m < problem.tokens; ++m) {
      one_hot[static_cast<std::size_t>(m * problem.inputs + input(m))] = 1.0;
    }
    product.all_input() = nf4::to_values(type, one_hot);
    const auto workload = product.upload(device, problem.tokens);
    for (const kernels::Variant& variant : kernels::cuda::matmul().variants) {
      if (!workload->unsupported(variant).empty()) continue;
      const double share = share_of_absmax(variant.name, type, problem.tokens);
      const double of_weight =
          nf4::unit_roundoff(type) * 1.01 + share_of_weight(variant.name, device);
      const std::vector<double> y = nf4::to_doubles(type, workload->output_of(variant));
      for (std::int64_t m = 0; m < problem.tokens; ++m) {
        for (std::int64_t n = 0; n < problem.outputs; ++n) {
          const double wanted = weights[static_cast<std::size_t>(n * problem.inputs + input(m))];
          const double most = std::fabs(wanted) * of_weight + share * absmax + 0x1p-24;
          ASSERT_NEAR(y[static_cast<std::size_t>(m * problem.outputs + n)], wanted, most)
              << variant.name << ", " << nf4::shape_to_string(product.weight().shape) << ", "
              << problem.tokens << " tokens, row " << n << " input " << input(m);
        }
      }
    }
  }
}

TEST_F(CudaMatmul, ShowsEveryWeightAlone) {
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    for (const std::int64_t tokens : {1, 4, 16, 64}) {
      expect_weights_alone(*device_, Product({.shape = {150, 320}}, type, tokens), 1);
    }
  }
}

TEST_F(CudaMatmul, ShowsWeightsOfRegroupedInputsAlone) {
  expect_weights_alone(*device_, Product({.shape = {8192, 4096}}, nf4::OutputType::kBfloat16, 32),
                       7);
  expect_weights_alone(*device_, Product({.shape = {18944, 3584}}, nf4::OutputType::kFloat16, 64),
                       13);
}

// A weight of each block.
TEST_F(CudaMatmul, ShowsWeightsOfLongRowsAlone) {
  for (const std::int64_t inputs : {18944, 25600}) {
    for (const auto kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
      for (const std::int64_t tokens : {4, 8, 16}) {
        expect_weights_alone(*device_,
                             Product({.shape = {80, inputs}, .absmax_kind = kind},
                                     nf4::OutputType::kBfloat16, tokens),
                             63);
      }
    }
  }
}

// Pruned and padded weights have many zeros. Sums of rounded parts may leave some, in float32.
TEST_F(CudaMatmul, ZerosInAWeightAddNothing) {
  constexpr std::uint8_t kZeros = 0x77;
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    for (const std::int64_t tokens : {1, 3, 8, 16, 40, 200}) {
      Product product({.shape = {200, 512}}, type, tokens);
      std::fill(product.weight().packed.begin(), product.weight().packed.end(), kZeros);
      const auto workload = product.upload(*device_, tokens);
      for (const kernels::Variant& variant : variants()) {
        if (!workload->unsupported(variant).empty()) continue;
        for (const double y : nf4::to_doubles(type, workload->output_of(variant))) {
          ASSERT_NEAR(y, 0.0, 1e-5) << variant.name << ", " << tokens << " tokens";
        }
      }
    }
  }
}

// Tokens that hold no number must not spoil those beside them, nor end as numbers.
TEST_F(CudaMatmul, KeepsNanAndInfinityInTheirTokens) {
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      Product product({.shape = {100, 512}}, type, 64);
      std::vector<double> x = nf4::to_doubles(type, product.all_input());
      x[1 * 512 + 300] = bad;
      product.all_input() = nf4::to_values(type, x);
      expect_right(product, {3, 16, 64});
    }
  }
  EXPECT_GT(runs_["fused"], 0);
}

// A token's magnitude is its own, however far from what float16 has.
TEST_F(CudaMatmul, TakesTokensOfAnyMagnitude) {
  for (const std::int64_t inputs : {96, 512}) {
    Product product({.shape = {100, inputs}}, nf4::OutputType::kBfloat16, 64);
    std::vector<double> x = nf4::to_doubles(nf4::OutputType::kBfloat16, product.all_input());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t token = i / static_cast<std::size_t>(inputs);
      x[i] = std::ldexp(x[i], static_cast<int>(token % 5) * 30 - 60);
    }
    product.all_input() = nf4::to_values(nf4::OutputType::kBfloat16, x);
    expect_right(product, {1, 4, 16, 64});
  }
}

// More than are brought into the range of float16 at once.
TEST_F(CudaMatmul, IsRightForManyTokensOfLongRows) {
  for (const std::int64_t inputs : {65536, 65600, 65535}) {
    Product product({.shape = {18, inputs}}, nf4::OutputType::kBfloat16, 140);
    expect_right(product, {140});
  }
}

// One block's scale is infinite and another's NaN: their rows are, and no others; in such a row
// float16 has no factor that keeps its other scales in range.
TEST_F(CudaMatmul, KeepsScalesThatAreNoNumbersInTheirRows) {
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    for (const auto kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
      for (const std::int64_t inputs : {512, 1088, 4096}) {
        Product product({.shape = {300, inputs}, .absmax_kind = kind}, type, 200);
        nf4::Nf4Tensor& weight = product.weight();
        const auto infinite = static_cast<std::size_t>(weight.blocks() / 3);
        const auto nan = static_cast<std::size_t>(weight.blocks() * 2 / 3);
        if (weight.is_nested()) {
          for (std::uint8_t& code : weight.absmax_codes) code = std::min<std::uint8_t>(code, 253);
          weight.nested_map[254] = std::nanf("");
          weight.nested_map[255] = HUGE_VALF;
          weight.absmax_codes[nan] = 254;
          weight.absmax_codes[infinite] = 255;
        } else {
          weight.absmax[nan] = std::nanf("");
          weight.absmax[infinite] = HUGE_VALF;
        }
        expect_right(product, {3, 16, 64, 200});
      }
    }
  }
  EXPECT_GT(runs_[is_hopper() ? "wgmma_decode" : "mma_ring"], 0);
}

// A problem of any size, most of them small, with at most 2^24 products in all. Every fourth has a
// weight that lies transposed.
struct RandomProblem {
  nf4::SyntheticSpec spec;
  nf4::OutputType type;
  std::int64_t tokens;
  const operation::Operation* operation = &operation::matmul();

  explicit RandomProblem(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t end) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    };
    const auto up_to = [&](double most) {
      return static_cast<std::int64_t>(
          std::exp2(std::log2(most) * static_cast<double>(below(1000)) / 999));
    };
    const std::int64_t inputs = up_to(128) * 64 + (below(4) == 0 ? below(64) : 0);
    tokens = up_to(600);
    const double most = 0x1p24 / static_cast<double>(inputs * tokens);
    spec = {.shape = {up_to(std::clamp(most, 1.0, 4096.0)), inputs},
            .blocksize = 32 << below(8),
            .absmax_kind = below(2) == 0 ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain,
            .seed = seed};
    type = nf4::kOutputTypes[below(5) < 4 ? below(2) : 2];
    if (below(4) > 0) return;
    operation = &operation::backward();
    spec.shape[0] = std::max<std::int64_t>(spec.shape[0] & ~63, 64);
  }
};

// Thousands with NF4BENCH_RANDOM_PROBLEMS.
TEST_F(CudaMatmul, IsRightForRandomProblems) {
  const char* const wanted = std::getenv("NF4BENCH_RANDOM_PROBLEMS");
  const std::uint64_t count = wanted == nullptr ? 50 : std::strtoull(wanted, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const RandomProblem problem(seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Product product(problem.spec, problem.type, problem.tokens, *problem.operation);
    expect_right(product, {problem.tokens});
  }
  for (const auto& [variant, runs] : runs_) {
    RecordProperty(variant, runs);
    std::printf("%s: %d problems\n", variant.c_str(), runs);
  }
}

TEST_F(CudaMatmul, IsRightInEveryConfiguration) {
  for (const kernels::Variant& variant : variants()) {
    for (const char* const* config = variant.configs; config != nullptr && *config; ++config) {
      const auto device = device::open_cuda_device(0, {.config = *config});
      for (const std::int64_t inputs : {1088, 3420}) {
        for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
          for (const int blocksize : {32, 64}) {
            Product product({.shape = {300, inputs}, .blocksize = blocksize}, type, 65);
            for (const std::int64_t tokens : {1, 7, 16, 30, 65}) {
              const auto workload = product.upload(*device, tokens);
              if (!workload->unsupported(variant).empty()) continue;
              EXPECT_TRUE(workload->verify(variant, product.expected(tokens)).passed())
                  << variant.name << ", " << *config << ", " << tokens << " tokens, " << inputs
                  << " inputs, blocksize " << blocksize << ", " << to_string(type);
            }
          }
        }
      }
    }
  }
}

// Sums in float16 would be infinite, were tokens multiplied as they are.
TEST_F(CudaMatmul, Float16SumsTakeTokensOfAnyMagnitude) {
  const auto device = device::open_cuda_device(0, {.config = "float16_sums"});
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    Product product({.shape = {100, 512}}, type, 64);
    std::vector<double> x = nf4::to_doubles(type, product.all_input());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = std::ldexp(x[i], static_cast<int>(i / 512 % 5) * 5 - 10);
    }
    product.all_input() = nf4::to_values(type, x);
    for (const std::int64_t tokens : {17, 64}) {
      const auto workload = product.upload(*device, tokens);
      EXPECT_TRUE(workload->verify(variant("mma_ring"), product.expected(tokens)).passed())
          << tokens << " tokens, " << to_string(type);
    }
  }
}

}  // namespace
}  // namespace nf4bench
