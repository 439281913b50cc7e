#include "bench/fake_run.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

using Kind = FakeCall::Kind;
using testing::ElementsAre;

// Three steps that any right output passes.
operation::Probe three_steps() {
  operation::Probe probe;
  probe.steps = 3;
  probe.make = [](const nf4::Nf4Tensor&, std::int64_t step) {
    return operation::ProbeStep{"step " + std::to_string(step), {}, std::vector<std::byte>(8)};
  };
  return probe;
}

// The variants of the calls that probes make, in turn.
std::vector<std::string> probed(const FakeRun& bench) {
  std::vector<std::string> names;
  for (const FakeCall& call : bench.device.calls_of(Kind::kVerify)) {
    if (call.purpose == device::UploadPurpose::kVerify) names.push_back(call.variant);
  }
  return names;
}

TEST(Probing, TakesAllStepsWithOneVariantBeforeTheNext) {
  FakeRun bench({"base", "fast"});
  bench.device.probes = {three_steps()};
  bench.run();
  EXPECT_EQ(bench.row("fast").status, record::Status::kPassed);
  EXPECT_THAT(probed(bench), ElementsAre("base", "base", "base", "fast", "fast", "fast"));
}

TEST(Probing, EndsForAVariantWithItsFirstWrongStep) {
  FakeRun bench({"base", "wrong"});
  bench.device.probes = {three_steps()};
  bench.device.script("wrong").is_wrong = [](const FakeCall& call) { return call.nth == 1; };
  bench.run();
  EXPECT_EQ(bench.row("base").status, record::Status::kPassed);
  EXPECT_EQ(bench.row("wrong").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("wrong").reason.rfind("step 1: ", 0), 0u) << bench.row("wrong").reason;
}

}  // namespace
}  // namespace nf4bench
