#include "bench/fake_run.hpp"
#include "error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

using Kind = FakeCall::Kind;

// A row of a variant that failed holds no time at all.
void expect_no_times(const record::Measurement& row) {
  EXPECT_FALSE(row.time_s);
  EXPECT_TRUE(row.samples_s.empty());
  EXPECT_TRUE(row.sm_clock_hz.empty());
  EXPECT_FALSE(row.stopped_by);
  EXPECT_FALSE(row.bytes_per_s);
  EXPECT_FALSE(row.fraction_of_copy);
  EXPECT_FALSE(row.fraction_of_stream);
  EXPECT_FALSE(row.speedup);
  EXPECT_FALSE(row.reason.empty());
}

bool was_sampled(const FakeDevice& device, const std::string& variant) {
  for (const FakeCall& call : device.calls_of(Kind::kSample)) {
    if (call.variant == variant) return true;
  }
  return false;
}

TEST(WrongOutput, IsAFailedRowAndNeverTimed) {
  FakeRun bench({"base", "wrong"});
  bench.device.script("wrong").is_wrong = [](const FakeCall&) { return true; };
  bench.run();
  const record::Measurement wrong = bench.row("wrong");
  EXPECT_EQ(wrong.status, record::Status::kFailed);
  expect_no_times(wrong);
  ASSERT_TRUE(wrong.verification);
  EXPECT_EQ(wrong.verification->mismatches, 1);
  EXPECT_EQ(wrong.verification->first_mismatch, 511);
  EXPECT_THAT(
      wrong.reason,
      testing::StartsWith("1 of 512 elements differ from the reference, the first at 511, by up to "
                          "1 ulp; [7, 63] is 0x"));
  EXPECT_EQ(wrong.verification->first_wrong->element, 511);
  EXPECT_FALSE(was_sampled(bench.device, "wrong"));
  EXPECT_EQ(bench.row("base").status, record::Status::kPassed);
}

TEST(WrongOutput, AfterTimingDropsTheTimes) {
  FakeRun bench({"base", "decays"});
  bench.device.script("decays").is_wrong = [](const FakeCall& call) { return call.nth > 0; };
  bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  bench.run();
  EXPECT_TRUE(was_sampled(bench.device, "decays"));
  ASSERT_EQ(bench.rows.size(), 4u);
  for (const record::Measurement& row : bench.rows) {
    if (row.variant == "base") {
      EXPECT_EQ(row.status, record::Status::kPassed);
      continue;
    }
    EXPECT_EQ(row.status, record::Status::kFailed);
    expect_no_times(row);
    EXPECT_EQ(row.verification->mismatches, 1);
    EXPECT_EQ(row.reason.rfind("after timing: ", 0), 0u) << row.reason;
  }
}

TEST(WrongOutput, OfTheBaselineLeavesTheOthersWithoutSpeedup) {
  FakeRun bench({"base", "fast"});
  bench.device.script("base").is_wrong = [](const FakeCall& call) { return call.nth > 0; };
  bench.run();
  EXPECT_EQ(bench.row("base").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("fast").status, record::Status::kPassed);
  EXPECT_TRUE(bench.row("fast").time_s);
  EXPECT_FALSE(bench.row("fast").speedup);
}

TEST(WrongOutput, InOneTypeLeavesTheOtherTypeAlone) {
  FakeRun bench({"base", "wrong"});
  bench.options.output_types = {nf4::OutputType::kFloat16, nf4::OutputType::kFloat32};
  bench.device.script("wrong").is_wrong = [](const FakeCall& call) {
    return call.type == nf4::OutputType::kFloat32;
  };
  bench.run();
  ASSERT_EQ(bench.rows.size(), 4u);
  EXPECT_EQ(bench.rows[1].status, record::Status::kPassed);
  EXPECT_EQ(bench.rows[3].status, record::Status::kFailed);
}

TEST(Verification, HappensBeforeAndAfterTiming) {
  FakeRun bench({"base", "fast"});
  bench.run();
  const auto& calls = bench.device.calls;
  ASSERT_GT(calls.size(), 12u);
  EXPECT_EQ(calls[0].kind, Kind::kUpload);
  EXPECT_EQ(calls[0].purpose, device::UploadPurpose::kTime);
  EXPECT_EQ(calls[1].kind, Kind::kVerify);
  EXPECT_EQ(calls[2].kind, Kind::kVerify);
  EXPECT_EQ(calls[3].kind, Kind::kSample);
  EXPECT_EQ(calls[calls.size() - 12].kind, Kind::kSample);
  EXPECT_EQ(calls[calls.size() - 11].kind, Kind::kChange);
  EXPECT_EQ(calls[calls.size() - 6].kind, Kind::kCheck);
  EXPECT_EQ(calls[calls.size() - 5].kind, Kind::kChange);
  EXPECT_EQ(calls[calls.size() - 4].kind, Kind::kCheck);
  EXPECT_EQ(calls[calls.size() - 3].kind, Kind::kCheck);
  EXPECT_EQ(calls[calls.size() - 2].kind, Kind::kVerify);
  EXPECT_EQ(calls[calls.size() - 1].kind, Kind::kVerify);
  EXPECT_EQ(bench.device.calls_of(Kind::kVerify).size(), 4u);
}

TEST(Verification, CoversTheTensorsThatAreNotTimed) {
  FakeRun bench({"base", "fast"});
  const bench::RunOutcome outcome =
      bench.run({fake_source("a"), fake_source("b"), fake_source("c")});
  EXPECT_EQ(outcome.tensors_verified, 3);
  EXPECT_EQ(outcome.measurements, 2);
  int verified_b = 0;
  for (const FakeCall& call : bench.device.calls) {
    if (call.kind == Kind::kUpload && call.tensor != "a") {
      EXPECT_EQ(call.purpose, device::UploadPurpose::kVerify);
    }
    if (call.kind == Kind::kSample) {
      EXPECT_EQ(call.tensor, "a");
    }
    if (call.kind == Kind::kVerify && call.tensor == "b") ++verified_b;
  }
  EXPECT_EQ(verified_b, 2);
}

TEST(Verification, OfAnotherTensorFailsTheGeometry) {
  FakeRun bench({"base", "wrong"});
  bench.device.script("wrong").is_wrong = [](const FakeCall& call) { return call.tensor == "b"; };
  const bench::RunOutcome outcome =
      bench.run({fake_source("a"), fake_source("b"), fake_source("c", 16)});
  EXPECT_EQ(outcome.tensors_verified, 3);
  ASSERT_EQ(bench.rows.size(), 4u);
  EXPECT_EQ(bench.rows[1].cell.tensor, "t0");
  EXPECT_EQ(bench.rows[1].status, record::Status::kFailed);
  expect_no_times(bench.rows[1]);
  EXPECT_EQ(bench.rows[1].reason.rfind("on b: 1 of 512 elements differ", 0), 0u)
      << bench.rows[1].reason;
  EXPECT_EQ(bench.rows[0].status, record::Status::kPassed);
  EXPECT_EQ(bench.rows[3].cell.tensor, "t1");
  EXPECT_EQ(bench.rows[3].status, record::Status::kPassed);
}

TEST(Verification, WhenSampledLeavesOtherTensorsUnread) {
  FakeRun bench({"base", "fast"});
  bench.options.verify = record::VerifyScope::kSampled;
  plan::TensorSource other = fake_source("b");
  other.load = []() -> nf4::Nf4Tensor { throw Error(ErrorKind::kInput, "must not be read"); };
  const bench::RunOutcome outcome = bench.run({fake_source("a"), other});
  EXPECT_EQ(outcome.tensors_verified, 1);
  EXPECT_EQ(bench.row("fast").status, record::Status::kPassed);
}

TEST(Verification, WhenSampledComparesTheFirst16MiElements) {
  FakeRun bench({"base"});
  bench.options.verify = record::VerifyScope::kSampled;
  bench.options.output_types = {nf4::OutputType::kFloat16};
  bench.run({fake_source("a", (16 << 20) / 64 + 1)});
  ASSERT_TRUE(bench.row("base").verification);
  EXPECT_EQ(bench.row("base").verification->compared, 16 << 20);
}

TEST(UnsupportedVariant, IsASkippedRowWithItsReason) {
  FakeRun bench({"base", "picky"});
  bench.device.script("picky").unsupported = "needs compute capability 9.0";
  bench.run();
  const record::Measurement picky = bench.row("picky");
  EXPECT_EQ(picky.status, record::Status::kSkipped);
  EXPECT_EQ(picky.reason, "needs compute capability 9.0");
  EXPECT_FALSE(picky.verification);
  expect_no_times(picky);
  EXPECT_EQ(bench.row("base").status, record::Status::kPassed);
  for (const FakeCall& call : bench.device.calls) EXPECT_NE(call.variant, "picky");
}

TEST(UnavailableLaunchMode, IsASkippedRowWithItsReason) {
  FakeRun bench({"base", "wrong"});
  bench.device.modes = {record::LaunchMode::kStream};
  bench.device.script("wrong").is_wrong = [](const FakeCall&) { return true; };
  bench.options.launches = {record::LaunchMode::kStream, record::LaunchMode::kGraph};
  bench.run();
  ASSERT_EQ(bench.rows.size(), 4u);
  EXPECT_EQ(bench.rows[0].status, record::Status::kPassed);
  EXPECT_EQ(bench.rows[2].status, record::Status::kSkipped);
  EXPECT_EQ(bench.rows[2].reason, "the device fake has no graph launches");
  EXPECT_EQ(bench.rows[3].status, record::Status::kFailed);
}

TEST(DeviceError, WhileVerifyingFailsOneVariant) {
  FakeRun bench({"base", "throws", "fast"});
  bench.device.script("throws").device_error = [](const FakeCall&) {
    return "too many resources requested for launch";
  };
  bench.run();
  EXPECT_EQ(bench.row("throws").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("throws").reason, "too many resources requested for launch");
  expect_no_times(bench.row("throws"));
  EXPECT_EQ(bench.row("base").status, record::Status::kPassed);
  EXPECT_EQ(bench.row("fast").status, record::Status::kPassed);
}

TEST(DeviceError, OfTwoVariantsInARowFailsJustThese) {
  FakeRun bench({"base", "throws", "too"});
  for (const char* name : {"throws", "too"}) {
    bench.device.script(name).device_error = [](const FakeCall&) { return "invalid argument"; };
  }
  bench.run();
  EXPECT_EQ(bench.row("throws").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("too").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("base").status, record::Status::kPassed);
}

TEST(DeviceError, WhileSamplingFailsTheCellAndNotTheOthers) {
  FakeRun bench({"base", "throws"});
  bench.options.launches = {record::LaunchMode::kGraph, record::LaunchMode::kStream};
  bench.device.script("throws").device_error = [](const FakeCall& call) -> std::string {
    const bool is_graph =
        call.kind == Kind::kSample && call.spec.launch == record::LaunchMode::kGraph;
    return is_graph ? "operation not permitted when stream is capturing" : "";
  };
  bench.run();
  ASSERT_EQ(bench.rows.size(), 4u);
  EXPECT_EQ(bench.rows[1].status, record::Status::kFailed);
  EXPECT_EQ(bench.rows[1].reason, "operation not permitted when stream is capturing");
  EXPECT_EQ(bench.rows[3].status, record::Status::kPassed);
  EXPECT_EQ(bench.rows[0].status, record::Status::kPassed);
}

TEST(DeviceError, AmidTheRoundsDropsTheVariantOnly) {
  FakeRun bench({"base", "throws", "fast"});
  bench.options.min_samples = 50;
  bench.device.script("throws").device_error = [](const FakeCall& call) -> std::string {
    return call.kind == Kind::kSample && call.nth == 40 ? "illegal instruction" : "";
  };
  bench.run();
  EXPECT_EQ(bench.row("throws").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("throws").reason, "illegal instruction");
  expect_no_times(bench.row("throws"));
  EXPECT_EQ(bench.row("base").samples_s.size(), 50u);
  EXPECT_EQ(bench.row("fast").samples_s.size(), 50u);
  EXPECT_TRUE(bench.row("fast").speedup);
}

TEST(DeviceError, AfterTimingFailsTheVariant) {
  FakeRun bench({"base", "throws"});
  bench.device.script("throws").device_error = [](const FakeCall& call) -> std::string {
    return call.kind == Kind::kVerify && call.nth == 1 ? "wrote past the end of its output" : "";
  };
  bench.run();
  EXPECT_EQ(bench.row("throws").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("throws").reason, "after timing: wrote past the end of its output");
  expect_no_times(bench.row("throws"));
}

TEST(DeviceError, ThatBreaksTheDeviceEndsTheRun) {
  FakeRun bench({"base", "kills", "fast"});
  bench.device.script("kills").device_error = [&](const FakeCall&) {
    bench.device.is_broken = true;
    return "an illegal memory access was encountered";
  };
  EXPECT_THAT(error_of(ErrorKind::kDevice, [&] { bench.run(); }),
              AllOf(HasSubstr("an illegal memory access"), HasSubstr("the fake device is broken")));
  EXPECT_EQ(bench.row("kills").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("base").status, record::Status::kSkipped);
  EXPECT_EQ(bench.row("fast").status, record::Status::kSkipped);
}

TEST(DeviceError, OfAnUploadEndsTheRunAfterTheRowsSoFar) {
  FakeRun bench({"base"});
  bench.device.on_call = [&](const FakeCall& call) {
    if (call.kind == Kind::kUpload && call.tensor == "b") bench.device.is_broken = true;
  };
  EXPECT_THROW(bench.run({fake_source("a", 8), fake_source("b", 16)}), Error);
  EXPECT_EQ(bench.rows.size(), 1u);
}

TEST(InputError, OfALoadEndsTheRun) {
  FakeRun bench({"base"});
  plan::TensorSource bad = fake_source("bad");
  bad.load = []() -> nf4::Nf4Tensor { throw Error(ErrorKind::kInput, "absmax is short"); };
  EXPECT_NE(error_of(ErrorKind::kInput, [&] { bench.run({fake_source("a"), bad}); }), "");
}

TEST(ImpossibleTimer, FailsTheVariant) {
  FakeRun bench({"base", "zero"});
  bench.device.take_seconds("zero", 0.0);
  bench.run();
  EXPECT_EQ(bench.row("zero").status, record::Status::kFailed);
  EXPECT_NE(bench.row("zero").reason.find("timer"), std::string::npos);
  EXPECT_EQ(bench.row("base").status, record::Status::kPassed);
}

}  // namespace
}  // namespace nf4bench
