#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/exact_bits.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

// Zeros, too: they differ in their sign.
TEST(SiblingOfADequantization, DiffersInEveryValueOfTheOutput) {
  const operation::Operation& dequantize = operation::dequantize();
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
    const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {333, 515}, .absmax_kind = kind});
    const nf4::Nf4Tensor sibling = dequantize.sibling(tensor);
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      const record::Verification found = operation::compare_outputs(
          type, nf4::reference_dequantize(tensor, type), nf4::reference_dequantize(sibling, type));
      EXPECT_EQ(found.mismatches, tensor.elements) << to_string(kind) << to_string(type);
    }
  }
}

// Both together fit where one does.
TEST(SiblingOfADequantization, SharesThePackedWeight) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {64, 256}});
  const nf4::Nf4Tensor sibling = operation::negated(tensor);
  const device::Work work =
      operation::make_work(operation::dequantize(), {tensor, &sibling},
                           operation::problem_of(tensor, nf4::OutputType::kFloat16));
  ASSERT_TRUE(work.bind_sibling);
  std::size_t shared = 0;
  std::size_t apart = 0;
  for (const device::InputBuffer& input : work.inputs) {
    (input.sibling.empty() ? shared : apart) += input.content.size();
  }
  EXPECT_GE(shared, tensor.packed.size());
  EXPECT_LT(apart, tensor.packed.size() / 16);
}

}  // namespace
}  // namespace nf4bench
