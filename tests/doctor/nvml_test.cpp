// What Nvml makes of the answers of the driver's library.

#include "device/nvml/nvml.hpp"

#include "doctor/fake_nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <unistd.h>

namespace nf4bench {
namespace {

using test::fake_gpu;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

constexpr char kPciId[] = "0000:3b:00.0";
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;

class NvmlTest : public testing::Test {
 protected:
  NvmlTest() { fake_gpu() = {}; }
};

TEST_F(NvmlTest, ReadsASoundGpu) {
  const device::GpuCondition condition = device::Nvml(kPciId).condition();
  EXPECT_THAT(condition.problem, IsEmpty());
  EXPECT_THAT(condition.max_sm_clock_hz, Optional(DoubleEq(1.98e9)));
  EXPECT_THAT(condition.power_limit_w, Optional(DoubleEq(700.0)));
  EXPECT_THAT(condition.default_power_limit_w, Optional(DoubleEq(700.0)));
  EXPECT_THAT(condition.persistence, Optional(true));
  EXPECT_EQ(condition.ecc, device::GpuSetting::kOn);
  EXPECT_EQ(condition.ecc_after_reset, device::GpuSetting::kOn);
  EXPECT_THAT(condition.uncorrected_errors, Optional(0u));
  EXPECT_THAT(condition.remapping_pending, Optional(false));
  EXPECT_THAT(condition.remapping_failed, Optional(false));
  EXPECT_EQ(condition.mig, device::GpuSetting::kOff);
  ASSERT_TRUE(condition.processes);
  EXPECT_THAT(*condition.processes, IsEmpty());
  EXPECT_THAT(condition.slowed_by_power_s, Optional(0.0));
}

TEST_F(NvmlTest, TellsApartWhatIsUnsupportedAndWhatFails) {
  fake_gpu().failures = {{"nvmlDeviceGetEccMode", kNotSupported},
                         {"nvmlDeviceGetMigMode", kNoPermission}};
  const device::GpuCondition condition = device::Nvml(kPciId).condition();
  EXPECT_EQ(condition.ecc, device::GpuSetting::kUnsupported);
  EXPECT_EQ(condition.mig, device::GpuSetting::kUnknown);
}

TEST_F(NvmlTest, LeavesOutWhatCannotBeRead) {
  for (const char* name :
       {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementDefaultLimit",
        "nvmlDeviceGetPersistenceMode", "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetViolationStatus", "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetCurrentClocksEventReasons", "nvmlSystemGetCudaDriverVersion_v2"}) {
    fake_gpu().failures[name] = kNotSupported;
  }
  const device::Nvml nvml(kPciId);
  const device::GpuCondition condition = nvml.condition();
  EXPECT_FALSE(condition.power_limit_w);
  EXPECT_FALSE(condition.default_power_limit_w);
  EXPECT_FALSE(condition.persistence);
  EXPECT_FALSE(condition.processes);
  EXPECT_FALSE(condition.slowed_by_heat_s);
  EXPECT_FALSE(nvml.reading().busy);
  EXPECT_FALSE(nvml.reading().throttle_reasons);
  EXPECT_FALSE(nvml.driver().cuda_version);
}

TEST_F(NvmlTest, NamesThrottleReasonsButNotIdleness) {
  fake_gpu().reasons = 0x1 | 0x4 | 0x40;
  const device::GpuReading reading = device::Nvml(kPciId).reading();
  ASSERT_TRUE(reading.throttle_reasons);
  EXPECT_THAT(*reading.throttle_reasons,
              ElementsAre("software power cap", "hardware thermal slowdown"));
}

TEST_F(NvmlTest, ReadsClocksAndHowBusyTheGpuIs) {
  fake_gpu().sm_clock = 345;
  fake_gpu().busy = 37;
  const device::GpuReading reading = device::Nvml(kPciId).reading();
  EXPECT_THAT(reading.sm_clock_hz, Optional(DoubleEq(345e6)));
  EXPECT_THAT(reading.memory_clock_hz, Optional(DoubleEq(3201e6)));
  EXPECT_THAT(reading.busy, Optional(DoubleEq(0.37)));
}

TEST_F(NvmlTest, ReadsTemperatureAndRemappedRows) {
  fake_gpu().remapped_corrected = 2;
  fake_gpu().remapped_uncorrected = 1;
  const device::Nvml nvml(kPciId);
  EXPECT_THAT(nvml.reading().temperature_c, Optional(DoubleEq(41.0)));
  EXPECT_THAT(nvml.condition().remapped_rows, Optional(3));
}

TEST_F(NvmlTest, ReadsWhatThePcieLinkIsAndCouldBe) {
  fake_gpu().pcie_generation = 1;
  fake_gpu().pcie_most_generation = 4;
  fake_gpu().pcie_width = 8;
  const device::Nvml nvml(kPciId);
  EXPECT_THAT(nvml.reading().pcie_generation, Optional(1));
  const device::PcieLink link = nvml.condition().pcie;
  EXPECT_THAT(link.width, Optional(8));
  EXPECT_THAT(link.card_width, Optional(16));
  EXPECT_THAT(link.card_generation, Optional(5));
  EXPECT_THAT(link.most_generation, Optional(4));
}

TEST_F(NvmlTest, CountsNvlinks) {
  fake_gpu().nvlinks[7] = 0;
  const auto links = device::Nvml(kPciId).condition().nvlinks;
  ASSERT_TRUE(links);
  EXPECT_EQ(links->present, 18);
  EXPECT_EQ(links->active, 17);
}

TEST_F(NvmlTest, TellsAGpuWithoutNvlinkFromOneThatDoesNotSay) {
  fake_gpu().failures = {{"nvmlDeviceGetNvLinkState", kNotSupported}};
  ASSERT_TRUE(device::Nvml(kPciId).condition().nvlinks);
  EXPECT_EQ(device::Nvml(kPciId).condition().nvlinks->present, 0);
  fake_gpu().failures = {{"nvmlDeviceGetNvLinkState", kNoPermission}};
  EXPECT_FALSE(device::Nvml(kPciId).condition().nvlinks);
}

TEST_F(NvmlTest, ReadsEnergyInJoulesWhereItIsCounted) {
  const device::Nvml nvml(kPciId);
  EXPECT_THAT(nvml.energy_j(), Optional(DoubleEq(123456.789)));
  fake_gpu().failures = {{"nvmlDeviceGetTotalEnergyConsumption", kNotSupported}};
  EXPECT_FALSE(nvml.energy_j());
}

TEST_F(NvmlTest, ListsEveryProcessOnce) {
  fake_gpu().computing = {{11, "/usr/bin/python3", 5ull << 30}, {12, "", ~0ull}};
  fake_gpu().drawing = {{12, "", ~0ull}, {13, "Xorg", 1 << 20}};
  const auto processes = device::Nvml(kPciId).condition().processes;
  ASSERT_TRUE(processes);
  ASSERT_EQ(processes->size(), 3u);
  EXPECT_EQ(processes->at(0).pid, 11u);
  EXPECT_EQ(processes->at(0).name, "/usr/bin/python3");
  EXPECT_THAT(processes->at(0).memory_bytes, Optional(std::int64_t{5} << 30));
  EXPECT_EQ(processes->at(1).name, "");
  EXPECT_FALSE(processes->at(1).memory_bytes);
  EXPECT_EQ(processes->at(2).pid, 13u);
}

TEST_F(NvmlTest, ListsMoreProcessesThanItFirstMakesRoomFor) {
  for (unsigned pid = 1; pid <= 300; ++pid) fake_gpu().computing.push_back({pid, "worker", 1});
  const auto processes = device::Nvml(kPciId).condition().processes;
  ASSERT_TRUE(processes);
  EXPECT_EQ(processes->size(), 300u);
  EXPECT_EQ(processes->back().pid, 300u);
}

TEST_F(NvmlTest, CountsTheProcessesBesidesThisOne) {
  const device::Nvml nvml(kPciId);
  const auto self = static_cast<unsigned>(getpid());
  fake_gpu().computing = {{self, "test_doctor", 1}};
  EXPECT_THAT(nvml.state().other_processes, Optional(0));
  fake_gpu().computing.push_back({self + 1, "python3", 1});
  fake_gpu().drawing = {{self + 1, "python3", 1}, {self + 2, "Xorg", 1}};
  EXPECT_THAT(nvml.state().other_processes, Optional(2));
}

// In a container the driver tells pids of the host: one process of the list is this one.
TEST_F(NvmlTest, DoesNotCountItselfInAContainer) {
  const device::Nvml nvml(kPciId);
  const auto self = static_cast<unsigned>(getpid());
  fake_gpu().computing = {{self + 1, "", 1}};
  EXPECT_THAT(nvml.state().other_processes, Optional(0));
  fake_gpu().computing.push_back({self + 2, "", 1});
  EXPECT_THAT(nvml.state().other_processes, Optional(1));
}

TEST_F(NvmlTest, DoesNotTakeALackOfKnowledgeForAGpuOfItsOwn) {
  const device::Nvml nvml(kPciId);
  EXPECT_EQ(nvml.state().other_processes, std::nullopt);  // an empty list lacks this process
  fake_gpu().computing = {{1, "", 1}, {2, "", 1}};
  ASSERT_TRUE(nvml.state().other_processes);
  fake_gpu().failures = {{"nvmlDeviceGetComputeRunningProcesses_v3", kNoPermission}};
  EXPECT_EQ(nvml.state().other_processes, std::nullopt);
}

// The list is that of the whole GPU, whatever instance of it a process uses.
TEST_F(NvmlTest, DoesNotCountProcessesOnAPartitionedGpu) {
  const device::Nvml nvml(kPciId);
  fake_gpu().computing = {{1, "", 1}, {2, "", 1}};
  ASSERT_TRUE(nvml.state().other_processes);
  fake_gpu().mig = 1;
  EXPECT_EQ(nvml.state().other_processes, std::nullopt);
}

TEST_F(NvmlTest, CountsSlowedTimeInSeconds) {
  fake_gpu().slowed_by_power = 2'500'000'000;
  fake_gpu().slowed_by_heat = 1'000'000;
  const device::GpuCondition condition = device::Nvml(kPciId).condition();
  EXPECT_THAT(condition.slowed_by_power_s, Optional(DoubleEq(2.5)));
  EXPECT_THAT(condition.slowed_by_heat_s, Optional(DoubleEq(1e-3)));
}

TEST_F(NvmlTest, KnowsTheDriverWithoutTheGpu) {
  const device::Nvml nvml("0000:ff:00.0");
  EXPECT_THAT(nvml.condition().problem, testing::HasSubstr("0000:ff:00.0"));
  EXPECT_FALSE(nvml.reading().sm_clock_hz);
  const device::DriverFacts driver = nvml.driver();
  EXPECT_EQ(driver.version, "580.159.04");
  EXPECT_THAT(driver.cuda_version, Optional(13000));
  EXPECT_THAT(driver.gpus, Optional(1));
}

TEST_F(NvmlTest, SaysWhenTheLibraryDoesNotStart) {
  fake_gpu().failures = {{"nvmlInit_v2", kNoPermission}};
  EXPECT_EQ(device::Nvml(kPciId).condition().problem, "NVML does not start");
}

TEST_F(NvmlTest, EndsWhatItStarted) {
  {
    const device::Nvml nvml(kPciId);
    EXPECT_EQ(fake_gpu().started, 1);
  }
  EXPECT_EQ(fake_gpu().started, 0);
}

}  // namespace
}  // namespace nf4bench
