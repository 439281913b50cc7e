// The facts that are collected about a fake device with a fake driver.

#include "doctor/examination.hpp"

#include "bench/fake_device.hpp"
#include "doctor/diagnosis.hpp"
#include "doctor/fake_nvml.hpp"
#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace nf4bench {
namespace {

using test::fake_gpu;
using testing::DoubleEq;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

class ExaminationTest : public testing::Test {
 protected:
  ExaminationTest() {
    fake_gpu() = {};
    fake_gpu().computing = {{static_cast<unsigned>(getpid()), "nf4bench", 1 << 20}};
    device.mutable_info().pci_id = "0000:3b:00.0";
    device.mutable_info().runtime = "13.0";
    device.mutable_info().compute_capability = 90;
    device.clock_hz = 1.98e9;
    options.root = "/no/such/folder";
    options.architectures = "90-real";
    options.rest_s = 0.0;
    options.aa.shape = {8, 64};
    options.aa.run_s = 0.5;
    options.aa.clock_s = [this] { return device.now_s; };
    device.take_seconds("fused", 1e-3);
    device.take_seconds("simd", 1e-3);
  }

  doctor::DoctorFacts examine_as(record::DeviceKind kind) {
    device.mutable_info().kind = kind;
    operation = device.operation();
    options.aa.operation = &operation;
    return doctor::examine(device, options, interrupted);
  }

  FakeDevice device{{"fused", "simd"}};
  operation::Operation operation;
  doctor::ExaminationOptions options;
  std::atomic<bool> interrupted{false};
};

TEST_F(ExaminationTest, OfAQuietGpuFindsItFit) {
  const test::ScratchFolder root;
  std::filesystem::create_directories(root.path("proc/driver/nvidia"));
  std::ofstream(root.path("proc/driver/nvidia/params")) << "RmProfilingAdminOnly: 0\n";
  options.root = root.path();
  const doctor::DoctorFacts facts = examine_as(record::DeviceKind::kCuda);
  EXPECT_EQ(facts.aa.variant, "fused");
  EXPECT_FALSE(facts.cpu);
  ASSERT_TRUE(facts.gpu);
  EXPECT_THAT(facts.gpu->at_rest, SizeIs(3));
  EXPECT_GE(facts.gpu->at_work.size(), 6u);
  EXPECT_THAT(facts.driver.cuda_version, Optional(13000));
  EXPECT_EQ(doctor::diagnose(facts).worst, doctor::Severity::kOk)
      << doctor::verdict_line(doctor::diagnose(facts));
}

// What goes wrong only while the variant runs must be seen: clocks, reasons and counters are read
// then, and processes and utilisation before.
TEST_F(ExaminationTest, LooksAtTheGpuBeforeDuringAndAfter) {
  fake_gpu().busy = 3;
  device.on_call = [](const FakeCall& call) {
    if (call.kind != FakeCall::Kind::kSample) return;
    fake_gpu().reasons = 0x20;
    fake_gpu().busy = 100;
    fake_gpu().slowed_by_heat += 1'000'000;
  };
  const doctor::DoctorFacts facts = examine_as(record::DeviceKind::kCuda);
  for (const device::GpuReading& reading : facts.gpu->at_rest) {
    EXPECT_THAT(reading.busy, Optional(DoubleEq(0.03)));
    EXPECT_THAT(*reading.throttle_reasons, IsEmpty());
  }
  EXPECT_THAT(*facts.gpu->at_work.back().throttle_reasons,
              testing::ElementsAre("software thermal slowdown"));
  EXPECT_THAT(facts.gpu->before.slowed_by_heat_s, Optional(0.0));
  EXPECT_GT(facts.gpu->after.slowed_by_heat_s, 0.1);
  const doctor::Diagnosis diagnosis = doctor::diagnose(facts);
  EXPECT_EQ(diagnosis.worst, doctor::Severity::kWorthless);
  EXPECT_EQ(diagnosis.findings.front().check, "throttling");
}

TEST_F(ExaminationTest, OfACpuThatShowsNothingKnowsNothing) {
  const doctor::DoctorFacts facts = examine_as(record::DeviceKind::kCpu);
  EXPECT_EQ(facts.aa.variant, "simd");
  EXPECT_FALSE(facts.gpu);
  ASSERT_TRUE(facts.cpu);
  EXPECT_FALSE(facts.driver.gpus) << "nobody asked for a GPU";
  const doctor::Diagnosis diagnosis = doctor::diagnose(facts);
  EXPECT_EQ(diagnosis.worst, doctor::Severity::kNote);
  for (const doctor::Finding& finding : diagnosis.findings) {
    if (finding.check == "noise") continue;
    EXPECT_THAT(finding.found, testing::HasSubstr("unknown")) << finding.check;
  }
}

TEST_F(ExaminationTest, NamesWsl2) {
  const test::ScratchFolder root;
  options.root = root.path();
  std::filesystem::create_directories(root / "proc/sys/kernel");
  const auto finding_on = [&](const std::string& kernel) {
    std::ofstream(root / "proc/sys/kernel/osrelease") << kernel << "\n";
    const auto findings = doctor::diagnose(examine_as(record::DeviceKind::kCuda)).findings;
    const auto wsl = std::ranges::find(findings, "wsl", &doctor::Finding::check);
    return wsl == findings.end() ? "" : wsl->found;
  };
  EXPECT_THAT(finding_on("5.15.167.4-microsoft-standard-WSL2"), testing::StartsWith("WSL 2: "));
  EXPECT_EQ(finding_on("4.4.0-22621-Microsoft"), "") << "WSL 1";
  EXPECT_EQ(finding_on("6.1.0-29-amd64"), "");
}

TEST_F(ExaminationTest, AsksForTheDriverWhenCudaIsMissing) {
  options.cuda_problem = "no CUDA-capable device is detected";
  EXPECT_THAT(examine_as(record::DeviceKind::kCpu).driver.gpus, Optional(1));
}

TEST_F(ExaminationTest, EndsEarlyWhenInterrupted) {
  interrupted = true;
  options.rest_s = 3600.0;
  EXPECT_TRUE(examine_as(record::DeviceKind::kCpu).aa.was_interrupted);
  EXPECT_THAT(device.calls_of(FakeCall::Kind::kSample), IsEmpty());
}

}  // namespace
}  // namespace nf4bench
