// What happens on the processors of the CPU device, and how they are set up.

#include "doctor/checks/checks.hpp"
#include "doctor/machines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using doctor::Severity;
using test::expect_finding;
using test::sound_cpu;
using testing::_;
using testing::HasSubstr;
using testing::IsEmpty;

class CpuChecks : public testing::Test {
 protected:
  // Others keep `processors` of 16 busy for the 100 ticks of the rest.
  doctor::Finding load_of(double processors) {
    cpu.rest_end.times->busy = cpu.rest_start.times->busy + 100.0 * processors;
    return doctor::check_load(cpu);
  }

  doctor::DoctorFacts facts = sound_cpu();
  doctor::CpuConditions& cpu = *facts.cpu;
};

TEST_F(CpuChecks, LoadIsJudgedByWhatOthersUse) {
  expect_finding(load_of(0.2), Severity::kOk);
  expect_finding(load_of(1.0), Severity::kNote);
  expect_finding(load_of(2.0), Severity::kWarning);
  expect_finding(load_of(9.0), Severity::kWorthless,
                 "others keep 9.0 of 16 processors busy; load average 0.05", HasSubstr("ps "));
}

TEST_F(CpuChecks, UnknownLoadIsSaidToBeUnknown) {
  cpu.rest_end.times.reset();
  cpu.setup.load.reset();
  expect_finding(doctor::check_load(cpu), Severity::kNote,
                 "others keep an unknown number of 16 processors busy; load average unknown");
}

TEST_F(CpuChecks, StolenTimeIsCountedWhileMeasuring) {
  expect_finding(doctor::check_stolen_time(cpu), Severity::kOk);
  const double total = cpu.at_work.back().times->total - cpu.at_work.front().times->total;
  cpu.at_work.back().times->stolen = 0.03 * total;
  expect_finding(doctor::check_stolen_time(cpu), Severity::kWarning, HasSubstr("3.0 %"));
  cpu.at_work.back().times->stolen = 0.2 * total;
  expect_finding(doctor::check_stolen_time(cpu), Severity::kWorthless);
  cpu.at_work.resize(1);
  expect_finding(doctor::check_stolen_time(cpu), Severity::kNote);
}

TEST_F(CpuChecks, NoCpuLimitIsFine) {
  expect_finding(doctor::check_cpu_limit(cpu), Severity::kOk);
  cpu.setup.limit_is_known = false;
  expect_finding(doctor::check_cpu_limit(cpu), Severity::kNote);
}

TEST_F(CpuChecks, ALimitBelowTheThreadsIsAWarning) {
  cpu.setup.limit = 16.0;
  expect_finding(doctor::check_cpu_limit(cpu), Severity::kOk);
  cpu.setup.limit = 3.5;
  expect_finding(doctor::check_cpu_limit(cpu), Severity::kWarning,
                 HasSubstr("3.50 processors for 16 threads"), HasSubstr("--threads 3 "));
}

TEST_F(CpuChecks, BeingStoppedByALimitMakesAGateWorthless) {
  cpu.setup.limit = 3.5;
  for (std::size_t i = 0; i < cpu.at_work.size(); ++i) {
    cpu.at_work[i].paused_s = 7.0 + 0.5 * static_cast<double>(i);
  }
  expect_finding(doctor::check_cpu_limit(cpu), Severity::kWorthless,
                 HasSubstr("stopped for 4.50 s"));
}

// A pause before the measurement is no pause in it.
TEST_F(CpuChecks, OldPausesDoNotCount) {
  cpu.setup.limit = 16.0;
  for (doctor::CpuReading& reading : cpu.at_work) reading.paused_s = 120.0;
  expect_finding(doctor::check_cpu_limit(cpu), Severity::kOk);
}

TEST_F(CpuChecks, ClocksAreJudgedByHowFarTheyMove) {
  expect_finding(doctor::check_cpu_clocks(cpu), Severity::kOk);
  cpu.at_work[4].clock_hz = 2.45e9;
  expect_finding(doctor::check_cpu_clocks(cpu), Severity::kNote);
  cpu.at_work[5].clock_hz = 3.6e9;
  expect_finding(doctor::check_cpu_clocks(cpu), Severity::kWarning,
                 HasSubstr("2.40 to 3.60 GHz at work, which is 50.0 % apart"),
                 HasSubstr("--max 2400MHz"));
  for (doctor::CpuReading& reading : cpu.at_work) reading.clock_hz.reset();
  expect_finding(doctor::check_cpu_clocks(cpu), Severity::kNote, "unknown");
}

TEST_F(CpuChecks, EveryProcessorNeedsASteadyGovernor) {
  expect_finding(doctor::check_governor(cpu.setup), Severity::kOk,
                 "performance on 16 of 16 processors (acpi-cpufreq)");
  cpu.setup.governors = {{"performance", 15}, {"schedutil", 1}};
  expect_finding(doctor::check_governor(cpu.setup), Severity::kWarning,
                 HasSubstr("performance on 15, schedutil on 1 of 16 processors"),
                 "sudo cpupower frequency-set --governor performance");
}

TEST_F(CpuChecks, AnUnknownGovernorIsSaidToBeUnknown) {
  cpu.setup.governors.clear();
  expect_finding(doctor::check_governor(cpu.setup), Severity::kNote, HasSubstr("unknown"));
}

TEST_F(CpuChecks, BoostIsANoteWithTheSwitchThatTheMachineHas) {
  expect_finding(doctor::check_boost(cpu.setup), Severity::kOk);
  cpu.setup.boost = true;
  expect_finding(doctor::check_boost(cpu.setup), Severity::kNote, _,
                 HasSubstr("echo 0 | sudo tee"));
  cpu.setup.boost_is_intel = true;
  EXPECT_THAT(doctor::check_boost(cpu.setup).remedy, HasSubstr("no_turbo"));
  cpu.setup.boost.reset();
  EXPECT_EQ(doctor::check_boost(cpu.setup).found, "unknown");
}

TEST_F(CpuChecks, SmtIsANoteWithARemedyWhereThreadsShareCores) {
  expect_finding(doctor::check_smt(cpu.setup, 16), Severity::kOk);
  cpu.setup.smt = true;
  cpu.setup.cores = 8;
  expect_finding(doctor::check_smt(cpu.setup, 16), Severity::kNote, "on: 16 threads on 8 cores",
                 HasSubstr("--threads 8"));
  EXPECT_THAT(doctor::check_smt(cpu.setup, 8).remedy, IsEmpty());
  cpu.setup.smt.reset();
  EXPECT_EQ(doctor::check_smt(cpu.setup, 16).found, "unknown");
}

TEST_F(CpuChecks, AVirtualMachineIsANote) {
  expect_finding(doctor::check_virtual_machine(cpu.setup), Severity::kOk);
  cpu.setup.virtual_machine = true;
  expect_finding(doctor::check_virtual_machine(cpu.setup), Severity::kNote);
  cpu.setup.virtual_machine.reset();
  EXPECT_EQ(doctor::check_virtual_machine(cpu.setup).found, "unknown");
}

TEST_F(CpuChecks, AGpuThatTheDriverSeesButTheProgramCannotUseIsAWarning) {
  facts.cuda_problem = "CUDA driver version is insufficient for CUDA runtime version";
  expect_finding(doctor::check_missing_cuda(facts), Severity::kNote);
  facts.driver = {.version = "470.82", .cuda_version = 11040, .gpus = 8};
  facts.architectures = "90-real";
  expect_finding(doctor::check_missing_cuda(facts), Severity::kWarning,
                 HasSubstr("470.82 sees 8 GPUs, but: CUDA driver version is"));
  facts.architectures.clear();
  EXPECT_THAT(doctor::check_missing_cuda(facts).remedy, HasSubstr("-DNF4BENCH_CUDA=ON"));
}

}  // namespace
}  // namespace nf4bench
