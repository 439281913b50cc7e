#include "bench/estimate.hpp"

#include "bench/fake_run.hpp"
#include "operation/matmul.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

// At most so many seconds.
double most_of(bool has_probes, std::int64_t tokens) {
  FakeDevice device;
  device.mutable_info().kind = record::DeviceKind::kCpu;
  operation::Operation operation = operation::matmul();
  if (!has_probes) operation.probes = nullptr;
  record::RunOptions options;
  options.output_types = {nf4::OutputType::kFloat16};
  options.launches = {record::LaunchMode::kStream};
  options.tokens = {tokens};
  const auto planned =
      plan::plan_tensors({fake_source("a", 1024)}, plan::TensorChoice::kOnePerGeometry);
  const auto variants = plan::select_variants(device.variants(), {});
  return bench::estimate_run({device, operation, planned, variants, options}).most_s;
}

// A walk through 64 inputs and five more steps, of two variants.
TEST(Estimate, CountsTheCallsOfProbes) {
  constexpr double kCall = 1024.0 * 64.0 * 6e-9;
  EXPECT_GT(most_of(true, 1) - most_of(false, 1), 69 * 2 * kCall);
  EXPECT_LT(most_of(true, 1) - most_of(false, 1), 69 * 2 * kCall + 1.0);
  EXPECT_GT(most_of(true, 16) - most_of(false, 16), 9 * 2 * 16 * kCall);
  EXPECT_LT(most_of(true, 16) - most_of(false, 16), 9 * 2 * 16 * kCall + 1.0);
}

}  // namespace
}  // namespace nf4bench
