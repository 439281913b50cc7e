// How a GPU and its driver are set up.

#include "doctor/checks/checks.hpp"
#include "doctor/machines.hpp"
#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace nf4bench {
namespace {

using doctor::Finding;
using doctor::Severity;
using test::expect_finding;
using test::sound_gpu;
using testing::_;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kPciId[] = "0000:3b:00.0";

class GpuSetup : public testing::Test {
 protected:
  doctor::DoctorFacts facts = sound_gpu();
  device::GpuCondition& gpu = facts.gpu->before;
};

TEST_F(GpuSetup, TheDefaultPowerLimitIsFine) {
  expect_finding(doctor::check_power_cap(gpu, kPciId), Severity::kOk, "700 W of 700 W by default");
}

TEST_F(GpuSetup, ALoweredPowerLimitIsAWarning) {
  gpu.power_limit_w = 450.0;
  expect_finding(doctor::check_power_cap(gpu, kPciId), Severity::kWarning, _,
                 "sudo nvidia-smi -i 0000:3b:00.0 --power-limit=700");
}

TEST_F(GpuSetup, ARaisedPowerLimitIsFine) {
  gpu.default_power_limit_w = 600.0;
  expect_finding(doctor::check_power_cap(gpu, kPciId), Severity::kOk);
}

TEST_F(GpuSetup, AnUnknownPowerLimitIsNotTakenForTheDefault) {
  gpu.default_power_limit_w.reset();
  expect_finding(doctor::check_power_cap(gpu, kPciId), Severity::kNote, "unknown");
}

TEST_F(GpuSetup, PersistenceModeShouldBeOn) {
  expect_finding(doctor::check_persistence(gpu, kPciId), Severity::kOk);
  gpu.persistence = false;
  expect_finding(doctor::check_persistence(gpu, kPciId), Severity::kWarning, _,
                 "sudo nvidia-smi -i 0000:3b:00.0 --persistence-mode=1");
  gpu.persistence.reset();
  expect_finding(doctor::check_persistence(gpu, kPciId), Severity::kNote);
}

TEST_F(GpuSetup, AFullPcieLinkIsFine) {
  // At rest a link slows down to save power; what counts is its generation under load.
  for (device::GpuReading& each : facts.gpu->at_rest) each.pcie_generation = 1;
  facts.gpu->at_work.front().pcie_generation = 1;
  expect_finding(doctor::check_pcie(gpu_state(*facts.gpu)), Severity::kOk,
                 "generation 5, 16 lanes");
}

TEST_F(GpuSetup, APcieLinkBelowWhatTheCardCanDoIsAWarning) {
  gpu.pcie.width = 8;
  expect_finding(doctor::check_pcie(gpu_state(*facts.gpu)), Severity::kWarning,
                 "generation 5, 8 lanes; the card has 16 lanes", Not(IsEmpty()));
  gpu.pcie.width = 16;
  for (device::GpuReading& each : facts.gpu->at_work) each.pcie_generation = 3;
  expect_finding(doctor::check_pcie(gpu_state(*facts.gpu)), Severity::kWarning,
                 "generation 3, 16 lanes; the card is of generation 5");
}

TEST_F(GpuSetup, APcieSlotOfAnOlderGenerationIsANote) {
  for (device::GpuReading& each : facts.gpu->at_work) each.pcie_generation = 4;
  gpu.pcie.most_generation = 4;
  expect_finding(doctor::check_pcie(gpu_state(*facts.gpu)), Severity::kNote);
}

TEST_F(GpuSetup, AnUnknownPcieLinkIsANote) {
  gpu.pcie = {};
  EXPECT_EQ(doctor::check_pcie(gpu_state(*facts.gpu)).found, "unknown");
  expect_finding(doctor::check_pcie(gpu_state(*facts.gpu)), Severity::kNote);
}

TEST_F(GpuSetup, NvlinksShouldAllBeActive) {
  expect_finding(doctor::check_nvlink(gpu, kPciId), Severity::kOk, "18 of 18 links active");
  gpu.nvlinks->active = 17;
  expect_finding(doctor::check_nvlink(gpu, kPciId), Severity::kWarning, _,
                 HasSubstr("nvidia-smi nvlink"));
}

TEST_F(GpuSetup, NvlinksThatNobodyUsesAreNoFault) {
  gpu.nvlinks->active = 0;
  expect_finding(doctor::check_nvlink(gpu, kPciId), Severity::kNote);
  gpu.nvlinks = device::NvLinks();
  expect_finding(doctor::check_nvlink(gpu, kPciId), Severity::kOk, "this GPU has none");
  gpu.nvlinks.reset();
  expect_finding(doctor::check_nvlink(gpu, kPciId), Severity::kNote);
}

TEST_F(GpuSetup, RowsThatWereRemappedAreANote) {
  gpu.remapped_rows = 2;
  expect_finding(doctor::check_ecc(gpu, kPciId), Severity::kNote, "on; memory rows remapped: 2");
}

TEST_F(GpuSetup, EccOnOffOrAbsentIsFine) {
  EXPECT_EQ(doctor::check_ecc(gpu, kPciId).found, "on");
  gpu.ecc = gpu.ecc_after_reset = device::GpuSetting::kOff;
  expect_finding(doctor::check_ecc(gpu, kPciId), Severity::kOk, "off");
  gpu.ecc = gpu.ecc_after_reset = device::GpuSetting::kUnsupported;
  expect_finding(doctor::check_ecc(gpu, kPciId), Severity::kOk);
  gpu.ecc = device::GpuSetting::kUnknown;
  expect_finding(doctor::check_ecc(gpu, kPciId), Severity::kNote);
}

TEST_F(GpuSetup, EccThatChangesAtTheNextResetIsAWarning) {
  gpu.ecc_after_reset = device::GpuSetting::kOff;
  expect_finding(doctor::check_ecc(gpu, kPciId), Severity::kWarning,
                 "on; off after the next reset");
}

TEST_F(GpuSetup, FailingMemoryIsAWarning) {
  gpu.uncorrected_errors = 2;
  gpu.remapping_pending = true;
  expect_finding(doctor::check_ecc(gpu, kPciId), Severity::kWarning,
                 "on; 2 errors that could not be corrected; memory rows wait to be remapped",
                 HasSubstr("--gpu-reset"));
}

TEST_F(GpuSetup, AnInstanceOfAPartitionedGpuIsAWarning) {
  expect_finding(doctor::check_mig(gpu, kPciId), Severity::kOk);
  gpu.mig = device::GpuSetting::kUnsupported;
  expect_finding(doctor::check_mig(gpu, kPciId), Severity::kOk);
  gpu.mig = device::GpuSetting::kUnknown;
  expect_finding(doctor::check_mig(gpu, kPciId), Severity::kNote);
  gpu.mig = device::GpuSetting::kOn;
  expect_finding(doctor::check_mig(gpu, kPciId), Severity::kWarning);
}

TEST_F(GpuSetup, ADriverAsNewAsTheRuntimeIsFine) {
  expect_finding(doctor::check_driver(facts.driver, facts.device), Severity::kOk,
                 "580.159.04 for CUDA 13.0; built with CUDA 13.0");
  facts.device.runtime = "12.9";
  expect_finding(doctor::check_driver(facts.driver, facts.device), Severity::kOk);
}

TEST_F(GpuSetup, ADriverOlderThanTheRuntimeIsAWarning) {
  facts.driver = {.version = "550.54.15", .cuda_version = 12040, .gpus = 1};
  expect_finding(doctor::check_driver(facts.driver, facts.device), Severity::kWarning,
                 "550.54.15 for CUDA 12.4; built with CUDA 13.0",
                 HasSubstr("CUDA 13.0, or build with CUDA 12.4"));
  // As numbers, not as text: 12.10 is newer than 12.4.
  facts.device.runtime = "12.10";
  expect_finding(doctor::check_driver(facts.driver, facts.device), Severity::kWarning);
}

TEST_F(GpuSetup, AnUnknownDriverIsSaidToBeUnknown) {
  expect_finding(doctor::check_driver({}, facts.device), Severity::kNote,
                 "unknown for CUDA unknown; built with CUDA 13.0");
  facts.device.runtime = "thirteen";
  expect_finding(doctor::check_driver(facts.driver, facts.device), Severity::kNote);
}

struct ArchitectureCase {
  const char* built;
  int gpu;
  doctor::Severity severity;
};

// Binary compatibility according to the CUDA programming guide: machine code runs on later minor
// revisions of its major one, PTX is compiled for anything later, "a" and "f" are for their own.
class Architectures : public testing::TestWithParam<ArchitectureCase> {};

TEST_P(Architectures, AreJudgedByWhatRunsOnTheGpu) {
  record::DeviceInfo device;
  device.compute_capability = GetParam().gpu;
  expect_finding(doctor::check_architectures(GetParam().built, device), GetParam().severity);
}

INSTANTIATE_TEST_SUITE_P(All, Architectures,
                         testing::Values(ArchitectureCase{"75-real,90-real,120", 90, Severity::kOk},
                                         ArchitectureCase{"90", 90, Severity::kOk},
                                         ArchitectureCase{"90a-real", 90, Severity::kOk},
                                         ArchitectureCase{"75-real,80-real", 86, Severity::kNote},
                                         ArchitectureCase{"100-real,120", 121, Severity::kNote},
                                         ArchitectureCase{"75-real,90-virtual", 90,
                                                          Severity::kWarning},
                                         ArchitectureCase{"75-real,80", 90, Severity::kWarning},
                                         ArchitectureCase{"90a", 100, Severity::kWarning},
                                         ArchitectureCase{"120", 90, Severity::kWarning},
                                         ArchitectureCase{"native", 90, Severity::kNote},
                                         ArchitectureCase{"", 90, Severity::kNote}));

TEST_F(GpuSetup, ALibraryThatIsNotThereIsAWarningThatSaysWhatStaysUnknown) {
  gpu.problem = "libnvidia-ml.so.1 cannot be loaded";
  const doctor::Finding finding = doctor::check_management(gpu);
  expect_finding(finding, Severity::kWarning, HasSubstr(gpu.problem));
  EXPECT_THAT(finding.found, HasSubstr("unknown"));
}

// A machine as it shows itself in /proc.
device::CounterAccess access_of(const std::string& params, const std::string& status,
                                const std::string& kernel = "6.1.0-38-amd64") {
  const test::ScratchFolder root;
  const auto put = [&](const char* file, const std::string& text) {
    const std::filesystem::path path = root.path(file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  if (!params.empty()) put("proc/driver/nvidia/params", params);
  put("proc/self/status", status);
  put("proc/sys/kernel/osrelease", kernel + "\n");
  return device::read_counter_access(root.path());
}

constexpr char kAdmins[] = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n";
constexpr char kAnybody[] = "RmProfilingAdminOnly: 0\n";
constexpr char kUser[] = "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n";
constexpr char kRoot[] = "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n";
constexpr char kRootOfContainer[] = "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n";
constexpr char kPerfmon[] = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000004000000000\n";

TEST(CounterAccess, IsJudgedByDriverAndCapabilities) {
  for (const char* const status : {kUser, kRoot, kRootOfContainer}) {
    expect_finding(doctor::check_counters(access_of(kAnybody, status)), Severity::kOk);
  }
  expect_finding(doctor::check_counters(access_of(kAdmins, kRoot)), Severity::kOk);
  expect_finding(doctor::check_counters(access_of(kAdmins, kPerfmon)), Severity::kOk);
  const Finding user = doctor::check_counters(access_of(kAdmins, kUser));
  EXPECT_EQ(user.severity, Severity::kNote);
  EXPECT_THAT(user.found, HasSubstr("administrators alone"));
  EXPECT_THAT(user.remedy, HasSubstr("sudo"));
  EXPECT_THAT(doctor::check_counters(access_of(kAdmins, kRootOfContainer)).remedy,
              HasSubstr("start this container with --cap-add=SYS_ADMIN"));
}

TEST(CounterAccess, IsUpToWindowsOrToAHostThatTheDriverDoesNotShow) {
  const device::CounterAccess wsl = access_of("", kRoot, "5.15.167.4-microsoft-standard-WSL2");
  EXPECT_EQ(doctor::check_counters(wsl).found, "unknown");
  EXPECT_THAT(doctor::check_counters(wsl).remedy, HasSubstr("NVIDIA Control Panel"));
  EXPECT_EQ(doctor::check_counters(access_of("", kRoot)).found, "unknown");
  // The driver would allow it, and yet they were refused.
  EXPECT_THAT(device::how_to_allow_counters(access_of(kAnybody, kUser)),
              HasSubstr("the host decides"));
}

}  // namespace
}  // namespace nf4bench
