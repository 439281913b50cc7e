// What is read below /proc and /sys, from folders laid out as Linux does.

#include "doctor/checks/cpu_conditions.hpp"

#include "device/cpu/cpu_facts.hpp"
#include "device/cpu/small_files.hpp"
#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

class Machine : public test::FolderTest {
 protected:
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  static std::string processor(int number) {
    return "sys/devices/system/cpu/cpu" + std::to_string(number) + "/";
  }

  const fs::path& root = folder_;
};

TEST_F(Machine, ThatShowsNothingIsAllUnknown) {
  const doctor::CpuSetup setup = doctor::read_cpu_setup(root, {0, 1});
  EXPECT_EQ(setup.processors, 2);
  EXPECT_THAT(setup.governors, IsEmpty());
  EXPECT_FALSE(setup.max_clock_hz);
  EXPECT_FALSE(setup.boost);
  EXPECT_FALSE(setup.smt);
  EXPECT_FALSE(setup.cores);
  EXPECT_FALSE(setup.load);
  EXPECT_FALSE(setup.limit);
  EXPECT_FALSE(setup.limit_is_known);
  EXPECT_FALSE(setup.virtual_machine);
  const doctor::CpuReading reading = doctor::read_cpu(root, {0, 1});
  EXPECT_FALSE(reading.clock_hz);
  EXPECT_FALSE(reading.times);
  EXPECT_FALSE(reading.paused_s);
}

TEST_F(Machine, ShowsGovernorsAndClocksOfItsProcessors) {
  for (const int number : {0, 1, 2}) {
    const std::string folder = processor(number) + "cpufreq/";
    write(folder + "scaling_governor", number == 1 ? "powersave\n" : "performance\n");
    write(folder + "scaling_driver", "intel_pstate\n");
    write(folder + "cpuinfo_max_freq", number == 2 ? "9000000\n" : "3800000\n");
    write(folder + "scaling_cur_freq", number == 2 ? "9000000\n" : "2100000\n");
  }
  write(processor(1) + "cpufreq/scaling_cur_freq", "3500123\n");
  const doctor::CpuSetup setup = doctor::read_cpu_setup(root, {0, 1});
  EXPECT_THAT(setup.governors, ElementsAre(Pair("performance", 1), Pair("powersave", 1)));
  EXPECT_EQ(setup.scaling_driver, "intel_pstate");
  EXPECT_THAT(setup.max_clock_hz, Optional(DoubleEq(3.8e9)));
  EXPECT_THAT(doctor::read_cpu(root, {0, 1}).clock_hz, Optional(DoubleEq(3.500123e9)));
}

TEST_F(Machine, HasOneOfTwoSwitchesForBoost) {
  write("sys/devices/system/cpu/cpufreq/boost", "1\n");
  EXPECT_THAT(doctor::read_cpu_setup(root, {0}).boost, Optional(true));
  EXPECT_FALSE(doctor::read_cpu_setup(root, {0}).boost_is_intel);
  write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  EXPECT_THAT(doctor::read_cpu_setup(root, {0}).boost, Optional(false));
  EXPECT_TRUE(doctor::read_cpu_setup(root, {0}).boost_is_intel);
}

TEST_F(Machine, CountsTheCoresOfItsProcessors) {
  write("sys/devices/system/cpu/smt/active", "1\n");
  write(processor(0) + "topology/core_cpus_list", "0,4\n");
  write(processor(4) + "topology/core_cpus_list", "0,4\n");
  write(processor(1) + "topology/thread_siblings_list", "1,5\n");
  const doctor::CpuSetup setup = doctor::read_cpu_setup(root, {0, 1, 4});
  EXPECT_THAT(setup.smt, Optional(true));
  EXPECT_THAT(setup.cores, Optional(2));
  EXPECT_FALSE(doctor::read_cpu_setup(root, {0, 1, 2}).cores);
}

TEST_F(Machine, SaysWhetherItIsVirtual) {
  write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n");
  EXPECT_THAT(doctor::read_cpu_setup(root, {0}).virtual_machine, Optional(true));
  write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme\n");
  EXPECT_THAT(doctor::read_cpu_setup(root, {0}).virtual_machine, Optional(false));
  write("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
  EXPECT_FALSE(doctor::read_cpu_setup(root, {0}).virtual_machine);
}

// Columns: user nice system idle iowait irq softirq steal guest guest_nice; guest is in user.
TEST_F(Machine, AddsUpTheTimesOfItsProcessorsAlone) {
  write("proc/stat",
        "cpu  999 999 999 999 999 999 999 999 0 0\n"
        "cpu0 100 10 20 5000 30 1 2 7 50 0\n"
        "cpu1 200 0 40 6000 0 0 0 3 0 0\n"
        "cpu10 900 900 900 900 900 900 900 900 0 0\n"
        "intr 12345 0 9\n");
  write("proc/loadavg", "4.87 2.66 2.04 7/119 2672\n");
  EXPECT_THAT(doctor::read_cpu_setup(root, {0}).load, Optional(DoubleEq(4.87)));
  const auto times = doctor::read_cpu(root, {0, 1}).times;
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->busy, 100 + 10 + 20 + 1 + 2 + 200 + 40);
  EXPECT_DOUBLE_EQ(times->stolen, 7 + 3);
  EXPECT_DOUBLE_EQ(times->total, 100 + 10 + 20 + 5000 + 30 + 1 + 2 + 7 + 200 + 40 + 6000 + 3);
  EXPECT_FALSE(doctor::read_cpu(root, {0, 2}).times);
}

TEST_F(Machine, HasTheTightestLimitOfItsControlGroups) {
  write("proc/self/cgroup", "0::/kubepods/pod7/main\n");
  write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n");
  write("sys/fs/cgroup/kubepods/cpu.max", "1600000 100000\n");
  write("sys/fs/cgroup/kubepods/cpu.stat", "usage_usec 9\nthrottled_usec 500000\n");
  write("sys/fs/cgroup/kubepods/pod7/cpu.max", "250000 100000\n");
  write("sys/fs/cgroup/kubepods/pod7/cpu.stat", "nr_throttled 3\nthrottled_usec 1500000\n");
  write("sys/fs/cgroup/kubepods/pod7/main/cpu.max", "max 100000\n");
  const doctor::ControlGroupTime time = doctor::read_control_group(root);
  EXPECT_TRUE(time.is_known);
  EXPECT_THAT(time.limit, Optional(DoubleEq(2.5)));
  EXPECT_THAT(time.paused_s, Optional(DoubleEq(2.0)));
  EXPECT_THAT(doctor::read_cpu_setup(root, {0}).limit, Optional(DoubleEq(2.5)));
  EXPECT_THAT(doctor::read_cpu(root, {0}).paused_s, Optional(DoubleEq(2.0)));
}

// A container sees its own group as the root of the mount, but may be told its path on the host.
TEST_F(Machine, FindsTheLimitOfAContainer) {
  write("proc/self/cgroup", "0::/docker/0123abcd\n");
  write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_THAT(doctor::read_control_group(root).limit, Optional(DoubleEq(1.5)));
}

TEST_F(Machine, WithoutLimitKnowsThatThereIsNone) {
  write("proc/self/cgroup", "0::/user.slice\n");
  write("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  EXPECT_TRUE(doctor::read_control_group(root).is_known);
  EXPECT_FALSE(doctor::read_control_group(root).limit);
}

TEST_F(Machine, InTheRootGroupHasNoLimit) {
  write("proc/self/cgroup", "0::/\n");
  EXPECT_FALSE(doctor::read_control_group(root).is_known);
  write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n");
  EXPECT_TRUE(doctor::read_control_group(root).is_known);
  EXPECT_FALSE(doctor::read_control_group(root).limit);
}

TEST_F(Machine, ReadsControlGroupsOfVersionOne) {
  write("proc/self/cgroup", "4:memory:/jobs/17\n3:cpu,cpuacct:/jobs/17\n0::/\n");
  const std::string folder = "sys/fs/cgroup/cpu,cpuacct/jobs/";
  write(folder + "cpu.cfs_quota_us", "-1\n");
  write(folder + "cpu.cfs_period_us", "100000\n");
  write(folder + "17/cpu.cfs_quota_us", "400000\n");
  write(folder + "17/cpu.cfs_period_us", "50000\n");
  write(folder + "17/cpu.stat", "nr_periods 8\nnr_throttled 1\nthrottled_time 250000000\n");
  const doctor::ControlGroupTime time = doctor::read_control_group(root);
  EXPECT_TRUE(time.is_known);
  EXPECT_THAT(time.limit, Optional(DoubleEq(8.0)));
  EXPECT_THAT(time.paused_s, Optional(DoubleEq(0.25)));
}

TEST_F(Machine, TakesNonsenseForUnknown) {
  write("proc/self/cgroup", "garbage\n0::/x\n:\n");
  write("sys/fs/cgroup/x/cpu.max", "lots 0\n");
  write("proc/loadavg", "\n");
  write("proc/stat", "cpu0 1 2\n");
  write("sys/devices/system/cpu/smt/active", "notimplemented\n");
  const doctor::CpuSetup setup = doctor::read_cpu_setup(root, {0});
  EXPECT_FALSE(setup.limit_is_known);
  EXPECT_FALSE(setup.load);
  EXPECT_FALSE(setup.smt);
  EXPECT_FALSE(doctor::read_cpu(root, {0}).times);
}

TEST(ThisMachine, HasProcessorsAndTheirTimes) {
  const std::vector<int> processors = device::allowed_processors();
  ASSERT_FALSE(processors.empty());
  const auto times = doctor::read_cpu("/", processors).times;
  ASSERT_TRUE(times);
  EXPECT_GT(times->total, times->busy);
}

}  // namespace
}  // namespace nf4bench
