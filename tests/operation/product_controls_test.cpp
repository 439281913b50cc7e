// Products that are wrong in ways that real kernels are, and right ones in ways that real kernels
// differ: what a run on the CPU says of each.

#include "device/devices.hpp"
#include "nf4/arithmetic.hpp"
#include "nf4/values.hpp"
#include "operation/probes.hpp"
#include "operation/product_run.hpp"
#include "operation/weight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

namespace nf4bench {
namespace {

using kernels::Job;
using nf4::OutputType;
using testing::HasSubstr;

float rounded(OutputType type, float value) {
  return type == OutputType::kFloat16 ? nf4::from_float16_bits(nf4::to_float16_bits(value))
                                      : nf4::from_bfloat16_bits(nf4::to_bfloat16_bits(value));
}

// To 4 significant bits, as FP8 (E4M3) has.
float to_fp8(float value) {
  if (value == 0.0f || !std::isfinite(value)) return value;
  const float step = std::exp2(std::floor(std::log2(std::fabs(value))) - 3.0f);
  return std::nearbyint(value / step) * step;
}

float number_at(const Job& job, const void* values, std::int64_t index) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(values) + index * 2, sizeof(bits));
  return job.output_type == OutputType::kFloat16 ? nf4::from_float16_bits(bits)
                                                 : nf4::from_bfloat16_bits(bits);
}

int code_at(const Job& job, std::int64_t index) {
  const unsigned pair = job.packed[index / 2];
  return static_cast<int>(index % 2 == 0 ? pair >> 4 : pair & 15u);
}

float scale_of(const Job& job, std::int64_t block) {
  return nf4::nested_scale(job.nested_map[job.absmax_codes[block]], job.nested_absmax[block / 256],
                           *job.nested_offset);
}

float exact_weight(const Job& job, std::int64_t index) {
  return rounded(job.output_type, nf4::multiply_flushed(nf4::codebook_value(code_at(job, index)),
                                                        scale_of(job, index >> job.block_shift)));
}

using Numbers = std::vector<float>;

float sum(const Numbers& products) {
  float total = 0.0f;
  for (const float each : products) total += each;
  return total;
}

// How a product is computed.
struct Recipe {
  std::function<float(const Job& job, std::int64_t index)> weight = exact_weight;
  std::function<float(float value)> activation = [](float value) { return value; };
  std::function<float(const Job& job, const Numbers& products)> add =
      [](const Job&, const Numbers& products) { return sum(products); };
  std::function<std::int64_t(const Job& job, std::int64_t m, std::int64_t n)> place =
      [](const Job& job, std::int64_t m, std::int64_t n) { return m * job.outputs + n; };
};

void multiply(const Recipe& recipe, const Job& job) {
  Numbers w;
  Numbers x;
  for (std::int64_t i = 0; i < job.elements; ++i) w.push_back(recipe.weight(job, i));
  for (std::int64_t i = 0; i < job.tokens * job.inputs; ++i) {
    x.push_back(recipe.activation(number_at(job, job.input, i)));
  }
  Numbers products(static_cast<std::size_t>(job.inputs));
  for (std::int64_t m = 0; m < job.tokens; ++m) {
    for (std::int64_t n = 0; n < job.outputs; ++n) {
      for (std::int64_t k = 0; k < job.inputs; ++k) {
        products[static_cast<std::size_t>(k)] = x[static_cast<std::size_t>(m * job.inputs + k)] *
                                                w[static_cast<std::size_t>(n * job.inputs + k)];
      }
      const float y = recipe.add(job, products);
      const std::uint16_t bits = job.output_type == OutputType::kFloat16 ? nf4::to_float16_bits(y)
                                                                         : nf4::to_bfloat16_bits(y);
      std::memcpy(static_cast<std::byte*>(job.output) + recipe.place(job, m, n) * 2, &bits,
                  sizeof(bits));
    }
  }
}

using Sizes = std::pair<OutputType, std::int64_t>;

class ProductControls : public testing::TestWithParam<Sizes> {
 protected:
  static constexpr std::int64_t kOutputs = 16;

  // The row of a variant that computes by `recipe`.
  static record::Measurement row_of(const Recipe& recipe, std::int64_t inputs = 256,
                                    record::VerifyScope verify = record::VerifyScope::kAll) {
    kernels::Variant variant;
    variant.name = "mine";
    variant.launch = [&recipe](const Job& job, const kernels::Launch&) { multiply(recipe, job); };
    const kernels::Catalog catalog = {
        .variants = {variant}, .stream_shapes = {}, .flagship = "mine", .default_baseline = "mine"};
    const auto device = device::open_cpu_device({.config = "", .threads = 1});
    const auto [type, tokens] = GetParam();
    return test::run_products(*device, catalog, {tokens, kOutputs, inputs, type, verify})["mine"];
  }

  // An input that no token of a sample has alone.
  static std::int64_t input_in_company(std::int64_t inputs) {
    const auto [type, tokens] = GetParam();
    kernels::Problem problem =
        operation::problem_of(operation::WeightSize{{kOutputs, inputs}}, type);
    problem.tokens = tokens;
    record::RunOptions options;
    options.verify = record::VerifyScope::kSampled;
    const operation::Probe walk =
        operation::product_probes(problem, options, record::DeviceKind::kCpu).front();
    const nf4::Nf4Tensor weight = nf4::make_synthetic({.shape = {kOutputs, inputs}});
    std::vector<bool> is_alone(static_cast<std::size_t>(inputs));
    for (std::int64_t step = 0; step < walk.steps; ++step) {
      const std::vector<double> x = nf4::to_doubles(type, walk.make(weight, step).input);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] != 0.0) is_alone[i % is_alone.size()] = true;
      }
    }
    return std::find(is_alone.begin(), is_alone.end(), false) - is_alone.begin();
  }

  static void expect_class(const Recipe& recipe, record::WeightClass weights,
                           std::int64_t inputs = 256) {
    const record::Measurement row = row_of(recipe, inputs);
    EXPECT_EQ(row.status, record::Status::kPassed) << row.reason;
    ASSERT_TRUE(row.verification && row.verification->accuracy);
    EXPECT_EQ(row.verification->accuracy->weights, weights);
    EXPECT_GT(row.verification->accuracy->rms_error, 0.0);
    EXPECT_LT(row.verification->accuracy->rms_error, 2.0 * nf4::unit_roundoff(GetParam().first));
  }

  static void expect_failed(const Recipe& recipe, const std::string& reason,
                            std::int64_t inputs = 256) {
    const record::Measurement row = row_of(recipe, inputs);
    EXPECT_EQ(row.status, record::Status::kFailed);
    EXPECT_THAT(row.reason, HasSubstr(reason));
    EXPECT_FALSE(row.time_s);
  }
};

constexpr const char* kAlone = "with one input at a time";

TEST_P(ProductControls, SumsInAnyOrderAreExact) {
  expect_class({}, record::WeightClass::kExact);
  expect_class({.add =
                    [](const Job&, const Numbers& products) {
                      return sum({products.rbegin(), products.rend()});
                    }},
               record::WeightClass::kExact);
}

TEST_P(ProductControls, SumsOfPartsOfTheInputsAreExact) {
  const auto add = [](const Job&, const Numbers& products) {
    constexpr std::ptrdiff_t kPart = 64;
    Numbers parts;
    for (auto at = products.begin(); at != products.end(); at += kPart) {
      parts.push_back(sum({at, at + kPart}));
    }
    return sum(parts);
  };
  expect_class({.add = add}, record::WeightClass::kExact);
}

// Sixteen products and the sum so far are aligned to the greatest of them and cut off behind 24
// bits of it, towards zero, as tensor cores do.
TEST_P(ProductControls, SumsThatAreCutOffAreExact) {
  const auto add = [](const Job&, const Numbers& products) {
    constexpr std::size_t kTogether = 16;
    double total = 0.0;
    for (std::size_t k = 0; k < products.size(); k += kTogether) {
      double greatest = std::fabs(total);
      for (std::size_t i = k; i < k + kTogether; ++i) {
        if (!std::isfinite(products[i])) return sum(products);
        greatest = std::max(greatest, static_cast<double>(std::fabs(products[i])));
      }
      if (greatest == 0.0) continue;
      const double unit = std::exp2(std::floor(std::log2(greatest)) - 23.0);
      double cut = std::trunc(total / unit);
      for (std::size_t i = k; i < k + kTogether; ++i) {
        cut += std::trunc(static_cast<double>(products[i]) / unit);
      }
      total = cut * unit;
    }
    return static_cast<float>(total);
  };
  expect_class({.add = add}, record::WeightClass::kExact);
}

TEST_P(ProductControls, CodebookScaleAndProductRoundedTo16BitsAreToldApart) {
  const auto weight = [](const Job& job, std::int64_t index) {
    const float value = rounded(job.output_type, nf4::codebook_value(code_at(job, index)));
    const float scale = rounded(job.output_type, scale_of(job, index >> job.block_shift));
    return rounded(job.output_type, value * scale);
  };
  expect_class({.weight = weight}, record::WeightClass::kRounded);
}

TEST_P(ProductControls, SumsInTheTypeOfTheOutputAreFailed) {
  const auto add = [](const Job& job, const Numbers& products) {
    float total = 0.0f;
    for (const float each : products) total = rounded(job.output_type, total + each);
    return total;
  };
  expect_failed({.add = add}, "further from the truth", 1024);
}

TEST_P(ProductControls, AScaleOffByOneBlockIsFailed) {
  const auto weight = [](const Job& job, std::int64_t index) {
    const std::int64_t block = std::min((index >> job.block_shift) + 1, job.blocks - 1);
    return rounded(job.output_type,
                   nf4::codebook_value(code_at(job, index)) * scale_of(job, block));
  };
  expect_failed({.weight = weight}, kAlone);
}

TEST_P(ProductControls, WeightsThroughFp8AreFailed) {
  const auto weight = [](const Job& job, std::int64_t index) {
    return to_fp8(exact_weight(job, index));
  };
  expect_failed({.weight = weight}, kAlone);
}

// In one row, at one input: no random sum tells.
TEST_P(ProductControls, OneWeightThatIsAnotherIsFailed) {
  const auto weight = [](const Job& job, std::int64_t index) {
    if (index != 7 * job.inputs + 131) return exact_weight(job, index);
    const int next = code_at(job, index) == 15 ? 14 : code_at(job, index) + 1;
    return rounded(job.output_type,
                   nf4::codebook_value(next) * scale_of(job, index >> job.block_shift));
  };
  expect_failed({.weight = weight}, kAlone);
}

// At an input that is never seen alone.
TEST_P(ProductControls, EveryCodeOfOneInputThatIsWrongByOneIsFailed) {
  constexpr std::int64_t kInputs = 512;
  const std::int64_t at = input_in_company(kInputs);
  ASSERT_LT(at, kInputs);
  const auto weight = [at](const Job& job, std::int64_t index) {
    if (index % job.inputs != at) return exact_weight(job, index);
    const int next = code_at(job, index) == 15 ? 14 : code_at(job, index) + 1;
    return rounded(job.output_type,
                   nf4::codebook_value(next) * scale_of(job, index >> job.block_shift));
  };
  const record::Measurement row =
      row_of({.weight = weight}, kInputs, record::VerifyScope::kSampled);
  EXPECT_EQ(row.status, record::Status::kFailed);
  EXPECT_THAT(row.reason, HasSubstr("with sums"));
}

TEST_P(ProductControls, RowsSayOfHowManyInputsTheWeightsWereSeen) {
  const auto inputs_seen = [](const record::Measurement& row) {
    return row.verification->accuracy->inputs.value();
  };
  const auto whole = inputs_seen(row_of({}));
  EXPECT_EQ(whole.alone, 256);
  EXPECT_EQ(whole.summed, 256);
  const auto sample = inputs_seen(row_of({}, 1024, record::VerifyScope::kSampled));
  EXPECT_EQ(sample.alone, 16 * GetParam().second);
  EXPECT_EQ(sample.summed, std::min<std::int64_t>(1024, 512 * GetParam().second));
}

TEST_P(ProductControls, TheLastBlockLeftOutIsFailed) {
  const auto weight = [](const Job& job, std::int64_t index) {
    return index % job.inputs < job.inputs - 64 ? exact_weight(job, index) : 0.0f;
  };
  expect_failed({.weight = weight}, kAlone);
}

TEST_P(ProductControls, SwappedColumnsAreFailed) {
  const auto place = [](const Job& job, std::int64_t m, std::int64_t n) {
    return m * job.outputs + (n == 3 ? 5 : n == 5 ? 3 : n);
  };
  expect_failed({.place = place}, kAlone);
}

TEST_P(ProductControls, ActivationsThroughFp8AreFailed) {
  expect_failed({.activation = to_fp8}, "further from the truth");
}

TEST_P(ProductControls, NanThatIsSkippedIsFailed) {
  const auto skip = [](float value) { return std::isnan(value) ? 0.0f : value; };
  expect_failed({.activation = skip}, "with NaN at input");
}

TEST_P(ProductControls, InfinityThatIsClampedIsFailed) {
  const auto clamp = [](float value) { return std::clamp(value, -65504.0f, 65504.0f); };
  expect_failed({.activation = clamp}, "with infinity at input");
}

TEST_P(ProductControls, AnInfiniteScaleThatIsClampedIsFailed) {
  const auto weight = [](const Job& job, std::int64_t index) {
    const float exact = exact_weight(job, index);
    return std::isfinite(exact) ? exact : 0.0f;
  };
  expect_failed({.weight = weight}, "with an infinite scale");
}

TEST_P(ProductControls, TransposedOutputsAreFailed) {
  const auto place = [](const Job& job, std::int64_t m, std::int64_t n) {
    return n * job.tokens + m;
  };
  if (GetParam().second == 1) GTEST_SKIP() << "one token is its own transpose";
  ASSERT_EQ(GetParam().second, kOutputs);
  expect_failed({.place = place}, kAlone);
}

// Numbers of tokens that no tile divides, and rows that blocks straddle.
TEST(BuiltInProducts, PassEveryProbeWithExactWeights) {
  const auto device = device::open_cpu_device({.config = "", .threads = 2});
  const kernels::Catalog& catalog = kernels::cpu::matmul();
  for (const std::int64_t tokens : {1, 3, 17}) {
    for (const OutputType type : nf4::kOutputTypes) {
      const auto rows = test::run_products(*device, catalog, {tokens, 13, 342, type});
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

INSTANTIATE_TEST_SUITE_P(
    Sizes, ProductControls,
    testing::Values(Sizes{OutputType::kFloat16, 1}, Sizes{OutputType::kFloat16, 16},
                    Sizes{OutputType::kBfloat16, 1}, Sizes{OutputType::kBfloat16, 16}),
    [](const auto& sizes) {
      return std::string(to_string(sizes.param.first)) + "_" + std::to_string(sizes.param.second);
    });

}  // namespace
}  // namespace nf4bench
