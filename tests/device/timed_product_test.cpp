// What timed samples of matrix products leave is judged as what those of dequantization do, though
// what is expected of an output is not its bits.

#include "device/buffered_workload.hpp"
#include "device/cpu/cpu_executor.hpp"
#include "device/cpu/cpu_memory.hpp"
#include "nf4/synthetic.hpp"
#include "operation/activations.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace nf4bench {
namespace {

using device::FaultKind;

constexpr device::SampleSpec kCold = {record::CacheMode::kCold, record::LaunchMode::kStream, 4};
constexpr device::SampleSpec kHot = {record::CacheMode::kHot, record::LaunchMode::kStream, 4};

class TimedProduct : public testing::Test {
 protected:
  static constexpr std::int64_t kTokens = 3;
  static constexpr std::int64_t kOutputs = 200;

  TimedProduct() {
    problem_.tokens = kTokens;
    input_ = operation::make_activations(problem_, record::Activations::kNormal, 1);
    own_ = reference(weight_);
    other_ = reference(sibling_);
    record::DeviceInfo info;
    info.l2_bytes = 1 << 16;
    const device::Work work = operation::make_work(
        operation::matmul(), {.tensor = weight_, .sibling = &sibling_, .input = input_}, problem_);
    workload_ = device::make_workload(
        {.info = info, .config = "", .caches_rotated = 5, .memory = device::cpu_memory()}, work,
        {.purpose = device::UploadPurpose::kTime, .guard = 4096}, device::make_cpu_executor(1));
  }

  std::vector<std::byte> reference(const nf4::Nf4Tensor& weight) const {
    return operation::matmul().reference(weight, problem_, input_,
                                         std::numeric_limits<std::int64_t>::max());
  }

  // A variant that multiplies as `change` says: of a job and the number of the call.
  static kernels::Variant variant_of(
      std::function<std::optional<kernels::Job>(const kernels::Job&, int)> change) {
    kernels::Variant variant = kernels::cpu::matmul().variants.front();
    auto calls = std::make_shared<int>(0);
    variant.launch = [calls, change = std::move(change), multiply = variant.launch](
                         const kernels::Job& job, const kernels::Launch& launch) {
      if (const auto changed = change(job, (*calls)++)) multiply(*changed, launch);
    };
    return variant;
  }

  std::optional<device::OutputFault> fault_of(const kernels::Variant& variant,
                                              const device::SampleSpec& spec) {
    EXPECT_TRUE(workload_->verify(variant, own_).is_exact());
    return workload_->check(variant, spec, {own_, other_});
  }

  nf4::Nf4Tensor weight_ = nf4::make_synthetic({.shape = {kOutputs, 64}});
  nf4::Nf4Tensor sibling_ = operation::negated(weight_);
  kernels::Problem problem_ = operation::problem_of(weight_, nf4::OutputType::kBfloat16);
  std::vector<std::byte> input_;
  std::vector<std::byte> own_;
  std::vector<std::byte> other_;
  std::unique_ptr<device::Workload> workload_;
};

TEST_F(TimedProduct, OfAnHonestVariantIsRight) {
  for (const device::SampleSpec& spec : {kCold, kHot}) {
    EXPECT_FALSE(fault_of(kernels::cpu::matmul().variants.front(), spec));
  }
}

TEST_F(TimedProduct, OfWhichTheLastTokenIsLeftOutIsUnwritten) {
  const auto fault =
      fault_of(variant_of([](kernels::Job job, int call) -> std::optional<kernels::Job> {
                 if (call > 0) --job.tokens;
                 return job;
               }),
               kCold);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kUnwritten);
  EXPECT_EQ(fault->elements, kOutputs);
  EXPECT_EQ(fault->found.compared, kTokens * kOutputs);
  EXPECT_EQ(fault->found.mismatches, kOutputs);
}

TEST_F(TimedProduct, OfAHotCallThatDoesNothingBelongsToTheOtherContent) {
  const auto fault = fault_of(variant_of([](const kernels::Job& job, int call) {
                                return call % 4 != 1 ? std::optional(job) : std::nullopt;
                              }),
                              kHot);  // calls 2 to 5
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kForeign);
  EXPECT_EQ(fault->elements, fault->found.mismatches);
  EXPECT_GT(fault->elements, kTokens * kOutputs * 9 / 10);  // but those near zero
}

TEST_F(TimedProduct, OfAnotherInputIsWrong) {
  std::vector<std::byte> other =
      operation::make_activations(problem_, record::Activations::kNormal, 2);
  const auto fault = fault_of(variant_of([&other](kernels::Job job, int call) {
                                if (call > 0) job.input = other.data();
                                return std::optional(job);
                              }),
                              kCold);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kWrong);
  ASSERT_TRUE(fault->found.accuracy);
  EXPECT_GT(fault->found.accuracy->rms_error, 0.5);
}

}  // namespace
}  // namespace nf4bench
