#include "device/devices.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/judge.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

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

// A tensor whose scales are all that float32 has: zeros, the smallest, infinities and NaN.
nf4::Nf4Tensor tensor_of_odd_scales() {
  nf4::Nf4Tensor tensor =
      nf4::make_synthetic({.shape = {64, 512}, .absmax_kind = nf4::AbsmaxKind::kPlain});
  const float odd[] = {0.0f,
                       -0.0f,
                       std::numeric_limits<float>::denorm_min(),
                       std::numeric_limits<float>::min(),
                       6e-8f,
                       65504.0f,
                       65520.0f,
                       std::numeric_limits<float>::max(),
                       std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()};
  for (std::size_t i = 0; i < tensor.absmax.size(); i += 3) tensor.absmax[i] = odd[i % 10];
  return tensor;
}

// It is what the reference would say of it, without its work.
TEST(SiblingOfADequantization, HasAReferenceThatFollowsFromTheFirst) {
  const operation::Operation& dequantize = operation::dequantize();
  for (const nf4::Nf4Tensor& tensor :
       {tensor_of_odd_scales(), nf4::make_synthetic({.shape = {333, 515}})}) {
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      const kernels::Problem problem = operation::problem_of(tensor, type);
      const std::int64_t most = tensor.elements - 7;
      const record::Verification found = operation::compare_outputs(
          type, dequantize.reference(dequantize.sibling(tensor), problem, {}, most),
          dequantize.sibling_reference(problem, dequantize.reference(tensor, problem, {}, most)));
      EXPECT_EQ(found.compared, most);
      EXPECT_TRUE(found.passed()) << operation::describe_mismatch(found) << to_string(type);
    }
  }
}

TEST(SiblingOfAProduct, HasAReferenceThatFollowsFromTheFirst) {
  const operation::Operation& matmul = operation::matmul();
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {33, 128}});
  record::RunOptions options;
  options.tokens = {3};
  const kernels::Problem problem =
      matmul.problems(operation::problem_of(tensor, nf4::OutputType::kBfloat16), options).front();
  const std::vector<std::byte> input = matmul.make_input(problem, options);
  EXPECT_EQ(matmul.sibling_reference(problem, matmul.reference(tensor, problem, input, 90)),
            matmul.reference(matmul.sibling(tensor), problem, input, 90));
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

// Libraries that keep the offset in memory, as bitsandbytes does, find it there.
TEST(Work, HoldsTheOffsetOfItsScalesInMemoryToo) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {64, 256}});
  const nf4::Nf4Tensor sibling = operation::negated(tensor);
  ASSERT_NE(tensor.nested_offset, sibling.nested_offset);
  const auto workload = device::open_cpu_device({})->upload(
      operation::make_work(operation::dequantize(), {tensor, &sibling},
                           operation::problem_of(tensor, nf4::OutputType::kFloat16)),
      device::UploadPurpose::kTime);
  std::set<float> seen;
  kernels::Variant reader;
  reader.name = "reader";
  reader.launch = [&](const kernels::Job& job, const kernels::Launch&) {
    EXPECT_EQ(*job.nested_offset, job.nested_offset_value);
    seen.insert(*job.nested_offset);
  };
  for (int i = 0; i < workload->buffer_sets(); ++i) {
    workload->sample(reader, {record::CacheMode::kCold, record::LaunchMode::kStream, 1});
  }
  EXPECT_EQ(seen, (std::set<float>{tensor.nested_offset, sibling.nested_offset}));
}

// A cold sample is to find what the layer before leaves: a decoded weight, or one that was read.
TEST(Work, SaysWhatTheLayerBeforeLeftInTheCache) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {64, 256}});
  kernels::Problem problem = operation::problem_of(tensor, nf4::OutputType::kFloat16);
  EXPECT_EQ(operation::make_work(operation::dequantize(), {tensor}, problem).foreign_lines,
            device::ForeignLines::kStored);
  problem.tokens = 1;
  EXPECT_EQ(operation::make_work(operation::matmul(), {tensor}, problem).foreign_lines,
            device::ForeignLines::kRead);
}

TEST(Work, OfPlainScalesHasNoOffset) {
  const nf4::Nf4Tensor tensor =
      nf4::make_synthetic({.shape = {64}, .absmax_kind = nf4::AbsmaxKind::kPlain});
  kernels::Variant reader;
  reader.name = "reader";
  reader.launch = [](const kernels::Job& job, const kernels::Launch&) {
    EXPECT_EQ(job.nested_offset, nullptr);
  };
  device::open_cpu_device({})
      ->upload(operation::dequantize_work(tensor, nf4::OutputType::kFloat16),
               device::UploadPurpose::kVerify)
      ->output_of(reader);
}

}  // namespace
}  // namespace nf4bench
