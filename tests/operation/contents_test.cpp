#include "operation/contents.hpp"

#include "nf4/synthetic.hpp"
#include "operation/activations.hpp"
#include "operation/dequantize.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>

namespace nf4bench {
namespace {

using nf4::AbsmaxKind;

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

struct Case {
  std::string name;
  std::int64_t tokens = 0;  // 0: dequantize
  AbsmaxKind kind = AbsmaxKind::kNested;
  std::int64_t most_values = kAll;
  bool is_backward = false;
};

// Rows that blocks straddle, and an odd number of elements.
class ContentsTest : public testing::TestWithParam<Case> {
 protected:
  static constexpr std::int64_t kChanges = 40;

  ContentsTest() {
    problem_.tokens = GetParam().tokens;
    problem_.transposed = GetParam().is_backward;
    if (problem_.transposed) std::swap(problem_.outputs, problem_.inputs);
    if (problem_.tokens > 0) {
      input_ = operation::make_activations(problem_, record::Activations::kNormal, 1);
    }
    own_ = reference(weight_);
    of_sibling_ = reference(sibling_);
  }

  const operation::Operation& operation() const {
    if (GetParam().is_backward) return operation::backward();
    return GetParam().tokens > 0 ? operation::matmul() : operation::dequantize();
  }

  std::vector<std::byte> reference(const nf4::Nf4Tensor& weight) const {
    return operation().reference(weight, problem_, input_, GetParam().most_values);
  }

  // The weight and the input in turn.
  device::ContentChange change() {
    const operation::Contents contents = {problem_, sibling_, input_, own_, of_sibling_};
    const bool is_input = is_input_next_;
    is_input_next_ = !input_.empty() && !is_input_next_;
    return is_input ? operation::change_input(operation(), contents, random_)
                    : operation::change_weight(operation(), contents, random_);
  }

  // What a change does to the buffers of the weight itself.
  void apply(const device::ChangedInput& changed) {
    const auto write = [&changed](void* to) {
      std::memcpy(static_cast<std::byte*>(to) + changed.at, changed.own.data(), changed.own.size());
    };
    if (changed.input == operation::kPacked) write(weight_.packed.data());
    if (changed.input == operation::kScales && weight_.is_nested()) {
      write(weight_.absmax_codes.data());
    }
    if (changed.input == operation::kScales && !weight_.is_nested()) write(weight_.absmax.data());
  }

  nf4::Nf4Tensor weight_ =
      nf4::make_synthetic({.shape = {23, 129}, .absmax_kind = GetParam().kind});
  nf4::Nf4Tensor sibling_ = operation::negated(weight_);
  kernels::Problem problem_ = operation::problem_of(weight_, nf4::OutputType::kBfloat16);
  std::vector<std::byte> input_;
  std::vector<std::byte> own_;
  std::vector<std::byte> of_sibling_;
  std::mt19937_64 random_{1};
  bool is_input_next_ = false;
};

// Of the weight that the changes made, whole: not a part of it was forgotten.
TEST_P(ContentsTest, AreHeldToWhatTheyGiveAfterEveryChange) {
  for (std::int64_t i = 0; i < kChanges; ++i) {
    for (const device::ChangedInput& changed : change().inputs) apply(changed);
    ASSERT_EQ(reference(weight_), own_) << i;
    ASSERT_EQ(reference(sibling_), of_sibling_) << i;
  }
}

TEST_P(ContentsTest, EveryChangeIsFeltInTheOutput) {
  for (std::int64_t i = 0; i < kChanges; ++i) {
    const std::vector<std::byte> before = own_;
    change();
    ASSERT_NE(own_, before) << i;
  }
}

// Nobody can look at the beginning of a buffer to tell.
TEST_P(ContentsTest, ChangeAtManyPlaces) {
  std::set<std::int64_t> places;
  for (std::int64_t i = 0; i < kChanges; ++i) {
    for (const device::ChangedInput& changed : change().inputs) {
      if (changed.input == operation::kPacked) places.insert(changed.at);
    }
  }
  EXPECT_GT(places.size(), 3u);
}

TEST_P(ContentsTest, AChangeCanBeTakenBack) {
  std::vector<std::byte> own = own_;
  const device::ContentChange done = change();
  std::vector<std::byte> back = own_;
  for (auto each = done.outputs.rbegin(); each != done.outputs.rend(); ++each) {
    const auto at = each->first * operation().expected_bytes(problem_.output_type);
    std::ranges::copy(each->own_before, back.begin() + at);
  }
  EXPECT_EQ(back, own);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, ContentsTest,
    testing::Values(Case{"decoded_nested"}, Case{"decoded_plain", 0, AbsmaxKind::kPlain},
                    Case{"decoded_sampled", 0, AbsmaxKind::kNested, 700}, Case{"one_token", 1},
                    Case{"tokens_plain", 3, AbsmaxKind::kPlain},
                    Case{"tokens_sampled", 3, AbsmaxKind::kNested, 200},
                    Case{"backward_nested", 3, AbsmaxKind::kNested, kAll, true},
                    Case{"backward_plain", 1, AbsmaxKind::kPlain, kAll, true},
                    Case{"backward_sampled", 3, AbsmaxKind::kNested, 200, true}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace nf4bench
