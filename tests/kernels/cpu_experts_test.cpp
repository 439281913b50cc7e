#include "activation.hpp"
#include "catalog.hpp"
#include "kernels/grouped_case.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace nf4bench::test {
namespace {

constexpr std::byte kPoison{0xeb};
constexpr std::size_t kCanary = 64;

class CpuExperts : public testing::TestWithParam<kernels::Variant> {
 protected:
  static std::vector<std::byte> output_of(const GroupedCase& product) {
    const kernels::Variant& variant = GetParam();
    std::vector<std::byte> output(product.output_bytes() + kCanary, kPoison);
    const auto scratch = static_cast<std::size_t>(workspace_of(variant, product.problem(), {}));
    std::vector<std::byte> workspace(scratch + kCanary, kPoison);
    kernels::Job job = product.job();
    job.output = output.data();
    job.workspace = workspace.data();
    std::vector<std::byte> prepared(
        static_cast<std::size_t>(prepared_of(variant, product.problem())));
    if (variant.prepare) {
      job.prepared = prepared.data();
      variant.prepare(job, {.device = {.multiprocessors = 2}});
    }
    variant.launch(job, {.device = {.multiprocessors = 2}});
    for (std::size_t i = 0; i < kCanary; ++i) {
      EXPECT_EQ(output[product.output_bytes() + i], kPoison);
      EXPECT_EQ(workspace[scratch + i], kPoison);
    }
    output.resize(product.output_bytes());
    return output;
  }

  // What is wrong with the output of a problem that the variant takes.
  static std::string judged(const GroupedCase& product) {
    if (why_unsupported(GetParam(), product.problem(), {}) != nullptr) return "";
    return product.judge(output_of(product));
  }
};

INSTANTIATE_TEST_SUITE_P(Variant, CpuExperts, testing::ValuesIn(kernels::cpu::experts().variants),
                         [](const auto& of) { return std::string(of.param.name); });

// Matrices whose last block reaches into the next expert's, and whose groups of 256 blocks do.
TEST_P(CpuExperts, AreRightForEverySizeTypeAndLayout) {
  const GroupedSizes all_sizes[] = {{1, 1, 1, 1, 1},    {3, 2, 7, 5, 33},   {8, 8, 2, 17, 70},
                                    {40, 4, 9, 24, 64}, {2, 1, 70, 9, 300}, {5, 3, 6, 17, 576}};
  for (const GroupedSizes& sizes : all_sizes) {
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      for (const bool is_other : {false, true}) {
        GroupedOptions options = {.type = type};
        options.absmax = is_other ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain;
        options.transposed = is_other;
        options.group.sums_slots = is_other;
        options.group.id_bytes = is_other ? 4 : 8;
        options.group.slots_have_rows = !is_other;
        options.has_bias = options.has_weights = is_other;
        const GroupedCase product(sizes, options, even_ids(sizes, 7));
        EXPECT_EQ(judged(product), "") << sizes.experts << " experts, " << sizes.outputs << "x"
                                       << sizes.inputs << " " << to_string(type) << " " << is_other;
      }
    }
  }
}

TEST_P(CpuExperts, TakesAnOffsetOfEachExpert) {
  const GroupedSizes sizes = {.experts = 3, .outputs = 256, .inputs = 64};
  GroupedOptions options = {.absmax = nf4::AbsmaxKind::kNested};
  options.group.own_offsets = true;
  const GroupedCase product(sizes, options, even_ids(sizes, 1));
  EXPECT_EQ(judged(product), "");
}

TEST_P(CpuExperts, GivesZeroToWhatIsNoExpertsWhateverItsRowAndWeight) {
  const GroupedSizes sizes = {.experts = 3, .top_k = 2, .tokens = 4};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool sums : {false, true}) {
    GroupedOptions options = {.has_weights = true};
    options.group.sums_slots = sums;
    const std::int64_t far = (std::int64_t{1} << 32) + 1;  // a valid id in its lower half
    GroupedCase product(sizes, options, {-1, 0, 3, far, 2, 2, 1, 2147483647});
    for (const std::size_t slot : {0u, 2u, 3u, 7u}) {
      const std::vector<std::byte> bits = nf4::to_values(options.type, std::vector<double>{nan});
      std::copy(bits.begin(), bits.end(),
                product.weights.begin() + static_cast<std::ptrdiff_t>(slot) * 2);
    }
    EXPECT_EQ(judged(product), "");
  }
}

TEST_P(CpuExperts, TakesEndsOfSortedRows) {
  const GroupedSizes sizes = {.experts = 5, .top_k = 1, .tokens = 12};
  GroupedOptions options;
  options.group.ends = true;
  options.group.id_bytes = 4;
  for (const std::vector<std::int64_t>& ends :
       std::vector<std::vector<std::int64_t>>{{2, 2, 7, 9, 12},
                                              {0, 0, 0, 0, 12},
                                              {3, 1, 8, 6, 10},
                                              {-5, 4, 90, 3, 2},
                                              {0, 0, 0, 0, 0}}) {
    const GroupedCase product(sizes, options, ends);
    EXPECT_EQ(judged(product), "");
  }
}

// The NaN of an expert that nobody chose reaches nobody, that of a row reaches its own slots.
TEST_P(CpuExperts, KeepsWhatIsNotFiniteWhereItBelongs) {
  const GroupedSizes sizes = {.experts = 3, .top_k = 1, .tokens = 4};
  GroupedCase product(sizes, {}, {0, 2, 0, 2});
  const auto blocks = static_cast<std::size_t>(sizes.outputs * sizes.inputs / 64);
  for (std::size_t i = 0; i < blocks; ++i) {
    product.weight().absmax[blocks + i] = std::numeric_limits<float>::quiet_NaN();
  }
  EXPECT_EQ(judged(product), "");
  const std::vector<std::byte> before = output_of(product);
  for (std::size_t i = 0; i < 64 * 2; ++i) product.input[2 * 64 * 2 + i] = std::byte{0x7f};
  const std::vector<std::byte> after = output_of(product);
  const std::size_t row = static_cast<std::size_t>(sizes.outputs) * 2;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (i / row != 2) {
      EXPECT_EQ(after[i], before[i]);
    }
  }
}

// A row's bits are the same whichever rows stand beside it.
TEST_P(CpuExperts, DoesNotLetRowsDependOnOthers) {
  const GroupedSizes sizes = {.experts = 4, .top_k = 2, .tokens = 90, .outputs = 20, .inputs = 320};
  const std::vector<std::int64_t> ids = even_ids(sizes, 2);
  GroupedCase product(sizes, {}, ids);
  const std::vector<std::byte> before = output_of(product);
  std::vector<std::int64_t> moved = ids;
  for (std::size_t i = 2; i < moved.size(); ++i) moved[i] = (moved[i] + 1) % sizes.experts;
  product.set_ids(moved);
  const std::vector<std::byte> after = output_of(product);
  const std::size_t own = 2 * static_cast<std::size_t>(sizes.outputs) * 2;
  EXPECT_TRUE(
      std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(own), after.begin()));
  EXPECT_NE(before, after);
}

TEST_P(CpuExperts, GivesTokensTheirBitsInAnyOrder) {
  const GroupedSizes sizes = {.experts = 8, .top_k = 3, .tokens = 23, .outputs = 20, .inputs = 320};
  const std::vector<std::int64_t> order = shuffled(sizes.tokens);
  for (const bool sums : {false, true}) {
    GroupedOptions options = {.has_weights = true};
    options.group.sums_slots = options.group.slots_have_rows = sums;
    GroupedCase product(sizes, options, even_ids(sizes, 2));
    if (why_unsupported(GetParam(), product.problem(), {}) != nullptr) continue;
    const std::vector<std::byte> before = output_of(product);
    product.reorder(order);
    EXPECT_EQ(output_of(product), in_order(before, order));
  }
}

// What an expert is multiplied by shows in the slots that chose it, and nowhere else.
TEST_P(CpuExperts, ChangesWhatChoseAnExpertWhenThatIsNegated) {
  const GroupedSizes sizes = {.experts = 5, .top_k = 2, .tokens = 12};
  const std::vector<std::int64_t> ids = even_ids(sizes, 4);
  GroupedCase product(sizes, {}, ids);
  const std::vector<std::byte> before = output_of(product);
  const auto blocks = static_cast<std::size_t>(sizes.outputs * sizes.inputs / 64);
  for (std::size_t i = 0; i < blocks; ++i) product.weight().absmax[2 * blocks + i] *= -1.0f;
  const std::vector<std::byte> after = output_of(product);
  const nf4::OutputType type = product.problem().output_type;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(ids.size()) * sizes.outputs; ++i) {
    const double sign = ids[static_cast<std::size_t>(i / sizes.outputs)] == 2 ? -1.0 : 1.0;
    EXPECT_EQ(nf4::value_at(type, after, i), sign * nf4::value_at(type, before, i)) << i;
  }
}

// A gate that has overflowed is infinite, not nothing.
TEST(Activation, Relu2CutsWhatIsNegativeAndKeepsNan) {
  kernels::Activation squared;
  squared.kind = kernels::ActivationKind::kRelu2;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [gate, wanted] : {std::pair{-kInfinity, 0.0f},
                                     {-2.0f, 0.0f},
                                     {-0.0f, 0.0f},
                                     {3.0f, 9.0f},
                                     {kInfinity, kInfinity}}) {
    EXPECT_EQ(activate(squared, gate, 1.0f), wanted) << gate;
  }
  EXPECT_TRUE(std::isnan(activate(squared, std::numeric_limits<float>::quiet_NaN(), 1.0f)));
}

}  // namespace
}  // namespace nf4bench::test
