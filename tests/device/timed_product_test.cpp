// What timed samples of matrix products leave is judged as what those of dequantization do, though
// what is expected of an output is not its bits.

#include "device/buffered_workload.hpp"
#include "device/cpu/cpu_executor.hpp"
#include "device/cpu/cpu_memory.hpp"
#include "nf4/synthetic.hpp"
#include "operation/activations.hpp"
#include "operation/contents.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

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
    EXPECT_TRUE(workload_->verify(variant, own_).passed());
    return workload_->check(variant, spec, {own_, other_});
  }

  using Change = device::ContentChange(const operation::Operation&, const operation::Contents&,
                                       std::mt19937_64&);
  void change(Change& part) {
    workload_->change(
        part(operation::matmul(), {problem_, sibling_, input_, own_, other_}, random_));
  }

  std::mt19937_64 random_{1};
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

TEST_F(TimedProduct, OfAnHonestVariantIsRightHoweverInputsChange) {
  const kernels::Variant& honest = kernels::cpu::matmul().variants.front();
  for (const device::SampleSpec& spec : {kCold, kHot, kCold, kHot}) {
    change(operation::change_weight);
    EXPECT_FALSE(workload_->judged_sample(honest, spec, {own_, other_}).fault);
    change(operation::change_input);
    EXPECT_FALSE(fault_of(honest, spec));
  }
}

// A decoded weight that is kept by where the weight is, and a whole output by its activations, too.
TEST_F(TimedProduct, OfWhatIsRememberedIsFound) {
  for (const bool keeps_output : {true, false}) {
    std::map<std::pair<const void*, std::vector<std::byte>>, std::vector<std::byte>> known;
    kernels::Variant remembers = kernels::cpu::matmul().variants.front();
    remembers.launch = [&, multiply = remembers.launch](const kernels::Job& job,
                                                        const kernels::Launch& launch) {
      const auto* const x = static_cast<const std::byte*>(job.input);
      std::vector<std::byte> key;
      if (keeps_output) key.assign(x, x + job.tokens * job.inputs * 2);
      std::vector<std::byte>& kept = known[{job.nested_absmax, key}];
      const std::size_t bytes = keeps_output
                                    ? static_cast<std::size_t>(job.tokens * job.outputs) * 2
                                    : static_cast<std::size_t>(job.elements) / 2;
      const bool is_new = kept.empty();
      kept.resize(bytes);
      kernels::Job remembered = job;
      if (!keeps_output) {
        if (is_new) std::memcpy(kept.data(), job.packed, bytes);
        remembered.packed = reinterpret_cast<const std::uint8_t*>(kept.data());
      }
      if (is_new || !keeps_output) multiply(remembered, launch);
      if (!keeps_output) return;
      if (is_new) std::memcpy(kept.data(), job.output, bytes);
      std::memcpy(job.output, kept.data(), bytes);
    };
    const device::SampleSpec all = {record::CacheMode::kCold, record::LaunchMode::kStream,
                                    2 * workload_->buffer_sets()};
    EXPECT_FALSE(fault_of(remembers, all));
    change(operation::change_weight);
    const auto fault = workload_->check(remembers, all, {own_, other_});
    ASSERT_TRUE(fault) << keeps_output;
  }
}

TEST_F(TimedProduct, OfActivationsThatAreRememberedIsFound) {
  std::vector<std::byte> kept;
  kernels::Variant remembers = kernels::cpu::matmul().variants.front();
  remembers.launch = [&, multiply = remembers.launch](const kernels::Job& job,
                                                      const kernels::Launch& launch) {
    const auto* const x = static_cast<const std::byte*>(job.input);
    if (kept.empty()) kept.assign(x, x + job.tokens * job.inputs * 2);
    kernels::Job remembered = job;
    remembered.input = kept.data();
    multiply(remembered, launch);
  };
  EXPECT_FALSE(fault_of(remembers, kCold));
  change(operation::change_input);
  const auto fault = workload_->check(remembers, kCold, {own_, other_});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kStale);
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
