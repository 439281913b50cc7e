// What happens on a GPU, and how bad it is.

#include "doctor/checks/checks.hpp"
#include "doctor/machines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using doctor::Severity;
using test::expect_finding;
using test::sound_gpu;
using testing::_;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class GpuChecks : public testing::Test {
 protected:
  doctor::GpuConditions& gpu() { return *facts.gpu; }
  doctor::Finding clocks() const {
    return doctor::check_clocks(*facts.gpu, facts.aa, facts.device.pci_id);
  }
  doctor::Finding throttling() const {
    return doctor::check_throttling(*facts.gpu, facts.aa, facts.device.pci_id);
  }
  doctor::Finding processes() const {
    return doctor::check_processes(*facts.gpu, facts.device.pci_id);
  }

  // Clocks from `low` to `high` MHz, evenly spread over the samples.
  void let_clocks_move(double low, double high) {
    auto& clocks = facts.aa.sm_clock_hz;
    for (std::size_t i = 0; i < clocks.size(); ++i) {
      clocks[i] = 1e6 * (low + (high - low) * static_cast<double>(i) /
                                   static_cast<double>(clocks.size() - 1));
    }
  }
  void at_work(const std::string& reason, std::size_t readings) {
    for (std::size_t i = 0; i < readings; ++i)
      gpu().at_work[i].throttle_reasons = std::vector{reason};
  }

  doctor::DoctorFacts facts = sound_gpu();
};

TEST_F(GpuChecks, LockedClocksAreFine) {
  const doctor::Finding finding = clocks();
  expect_finding(finding, Severity::kOk, HasSubstr("SM clock 1710 to 1710 MHz"));
  EXPECT_THAT(finding.found, HasSubstr("at most 1980 MHz"));
  EXPECT_THAT(finding.remedy, IsEmpty());
}

// The reports in docs/results/h200 have clocks of 1932 to 1981 MHz, and repeat within 0.52 %.
TEST_F(GpuChecks, ClocksThatMoveAsOnTheRecordedH200AreWorthANote) {
  let_clocks_move(1932, 1981);
  const doctor::Finding finding = clocks();
  expect_finding(finding, Severity::kNote, HasSubstr("not locked: SM clock 1934 to 1979 MHz"));
  EXPECT_THAT(finding.found, HasSubstr("2.3 % apart"));
  // 1934 rounded down to a multiple of 15, which the GPU has held.
  EXPECT_THAT(finding.remedy, HasSubstr("-i 0000:3b:00.0 --lock-gpu-clocks=1920,1920"));
}

TEST_F(GpuChecks, ClocksThatMoveByMoreThanThrottlingDoesAreAWarning) {
  let_clocks_move(1500, 1700);
  expect_finding(clocks(), Severity::kWarning);
}

TEST_F(GpuChecks, OneOddSampleIsNoMovingClock) {
  facts.aa.sm_clock_hz.front() = 1.2e9;
  expect_finding(clocks(), Severity::kOk);
}

TEST_F(GpuChecks, ClocksThatSleepAtRestAreNotLocked) {
  for (device::GpuReading& reading : gpu().at_rest) reading.sm_clock_hz = 345e6;
  expect_finding(clocks(), Severity::kNote, HasSubstr("at rest 345 MHz"));
}

TEST_F(GpuChecks, AMemoryClockThatMovesAtWorkIsAWarning) {
  gpu().at_work[3].memory_clock_hz = 1.593e9;
  expect_finding(clocks(), Severity::kWarning, HasSubstr("memory clock moves: 1593, 3201 MHz"));
}

TEST_F(GpuChecks, UnknownClocksAreSaidToBeUnknown) {
  facts.aa.sm_clock_hz.clear();
  for (device::GpuReading& reading : gpu().at_rest) reading.sm_clock_hz.reset();
  expect_finding(clocks(), Severity::kNote, "SM clock at work unknown, at rest unknown");
}

TEST_F(GpuChecks, NoThrottlingIsFine) {
  expect_finding(throttling(), Severity::kOk, "none");
}

TEST_F(GpuChecks, ClocksThatSomebodySetAreNoThrottling) {
  at_work("application clocks", 20);
  expect_finding(throttling(), Severity::kOk, "none but application clocks");
}

TEST_F(GpuChecks, APowerCapIsAWarningThatLowerClocksCure) {
  let_clocks_move(1500, 1505);
  at_work("software power cap", 20);
  expect_finding(throttling(), Severity::kWarning,
                 "software power cap in 20 of 20 readings at work",
                 HasSubstr("--lock-gpu-clocks=1500,1500"));
}

TEST_F(GpuChecks, HeatForAMomentIsAWarning) {
  at_work("software thermal slowdown", 3);
  expect_finding(throttling(), Severity::kWarning, _, HasSubstr("TEMPERATURE"));
}

TEST_F(GpuChecks, HeatMostOfTheTimeMakesAGateWorthless) {
  at_work("hardware thermal slowdown", 10);
  expect_finding(throttling(), Severity::kWorthless);
}

TEST_F(GpuChecks, CountersShowWhatReadingsMissed) {
  gpu().after.slowed_by_heat_s = *gpu().before.slowed_by_heat_s + 0.4;
  gpu().after.slowed_by_power_s = *gpu().before.slowed_by_power_s + 0.03;
  expect_finding(throttling(), Severity::kWarning, "slowed by heat for 10 % of the time");
}

TEST_F(GpuChecks, ThrottlingAtRestAloneIsANote) {
  gpu().at_rest[0].throttle_reasons = std::vector<std::string>{"software power cap"};
  expect_finding(throttling(), Severity::kNote);
}

TEST_F(GpuChecks, UnknownThrottleReasonsAreNotTakenForNone) {
  for (device::GpuReading& reading : gpu().at_work) reading.throttle_reasons.reset();
  for (device::GpuReading& reading : gpu().at_rest) reading.throttle_reasons.reset();
  expect_finding(throttling(), Severity::kNote, "unknown");
}

TEST_F(GpuChecks, ThisProgramAloneIsFine) {
  expect_finding(processes(), Severity::kOk,
                 "no other on this GPU; GPU busy for 0 % of the time without this program");
}

TEST_F(GpuChecks, AnIdleProcessIsAWarningAndNamed) {
  gpu().before.processes->push_back(
      {.pid = 99, .name = "/opt/env/bin/python3", .memory_bytes = 3ll << 30});
  expect_finding(processes(), Severity::kWarning,
                 HasSubstr("1 other on this GPU: python3 (pid 99, 3072 MiB)"),
                 HasSubstr("nvidia-smi -i 0000:3b:00.0 --query-compute-apps"));
}

TEST_F(GpuChecks, ABusyGpuMakesAGateWorthless) {
  for (device::GpuReading& reading : gpu().at_rest) reading.busy = 0.85;
  expect_finding(processes(), Severity::kWorthless, HasSubstr("busy for 85 %"));
}

TEST_F(GpuChecks, AGpuThatIsBusyNowAndThenIsAWarning) {
  for (device::GpuReading& reading : gpu().at_rest) reading.busy = 0.05;
  expect_finding(processes(), Severity::kWarning);
}

TEST_F(GpuChecks, OneOddReadingIsNoBusyGpu) {
  gpu().at_rest[0].busy = 1.0;
  expect_finding(processes(), Severity::kOk);
}

// In a container the driver tells pids of the host: one process of the list is this one.
TEST_F(GpuChecks, DoesNotTakeItselfForAnotherInAContainer) {
  gpu().own_pid = 7;
  expect_finding(processes(), Severity::kOk);
  gpu().before.processes->push_back({.pid = 5000, .name = "", .memory_bytes = {}});
  expect_finding(processes(), Severity::kWarning,
                 HasSubstr("1 other on this GPU, this program being one of: "
                           "nf4bench (pid 4711, 512 MiB), pid 5000"));
}

TEST_F(GpuChecks, AnEmptyListIsNotTakenForAnEmptyGpu) {
  gpu().before.processes->clear();
  expect_finding(processes(), Severity::kNote,
                 HasSubstr("unknown: the driver lists not even this one"));
  gpu().before.processes.reset();
  expect_finding(processes(), Severity::kNote);
}

TEST_F(GpuChecks, ManyProcessesAreCountedAndAFewNamed) {
  for (std::uint32_t pid = 100; pid < 140; ++pid) {
    gpu().before.processes->push_back({.pid = pid, .name = "", .memory_bytes = {}});
  }
  EXPECT_THAT(processes().found, HasSubstr("40 others on this GPU: pid 100, pid 101, pid 102, pid "
                                           "103, ...;"));
}

TEST_F(GpuChecks, NamesOfProcessesCannotDisturbATerminal) {
  gpu().before.processes->push_back({.pid = 99, .name = "evil\x1b[2J\n", .memory_bytes = {}});
  EXPECT_THAT(processes().found, Not(HasSubstr("\x1b")));
  EXPECT_THAT(processes().found, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace nf4bench
