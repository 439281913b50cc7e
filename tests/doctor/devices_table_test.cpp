// What "nf4bench doctor" says of several GPUs.

#include "doctor/diagnosis.hpp"
#include "doctor/machines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

using test::sound_gpu;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

constexpr text::Style kWide = {.width = 140};

std::string table(const std::vector<doctor::DoctorFacts>& facts) {
  std::vector<doctor::Diagnosis> diagnoses;
  for (const doctor::DoctorFacts& each : facts) diagnoses.push_back(doctor::diagnose(each));
  return doctor::devices_table(diagnoses, kWide);
}

doctor::DoctorFacts second_gpu() {
  doctor::DoctorFacts facts = sound_gpu();
  facts.device.id = "cuda:1";
  return facts;
}

TEST(GpuState, IsThatOfTheMeasurement) {
  doctor::GpuConditions gpu = *sound_gpu().gpu;
  gpu.at_rest.front().temperature_c = 99.0;
  gpu.at_rest.front().throttle_reasons = {"software power cap"};
  gpu.at_work[3].temperature_c = 64.0;
  gpu.at_work[4].sm_clock_hz = 1.0e9;
  gpu.at_work[5].throttle_reasons = {"hardware slowdown"};
  gpu.at_work[6].throttle_reasons = {"hardware slowdown"};
  const doctor::GpuState state = gpu_state(gpu);
  EXPECT_THAT(state.temperature_c, Optional(64.0));
  EXPECT_THAT(state.sm_clock_hz, Optional(1.71e9));
  EXPECT_THAT(state.throttle_reasons, Optional(ElementsAre("hardware slowdown")));
  EXPECT_THAT(state.pcie_generation, Optional(5));
}

TEST(GpuState, DoesNotTakeSilenceForHealth) {
  doctor::GpuConditions gpu;
  gpu.at_work.resize(5);
  const doctor::GpuState state = gpu_state(gpu);
  EXPECT_FALSE(state.throttle_reasons);
  EXPECT_FALSE(state.temperature_c);
  EXPECT_FALSE(state.pcie_generation);
}

TEST(DevicesTable, HasALineForEachGpu) {
  EXPECT_EQ(
      table({sound_gpu(), second_gpu()}),
      "device  GPU          verdict  deg C  MHz        throttled  ECC  errors  remapped  PCIe   "
      "NVLink  MIG\n"
      "cuda:0  NVIDIA H200  fit         41  1710/1980  no         on        0         0  5 x16  "
      "18/18   off\n"
      "cuda:1  NVIDIA H200  fit         41  1710/1980  no         on        0         0  5 x16  "
      "18/18   off\n\n");
}

TEST(DevicesTable, LosesTheNameAndTheRemappedRowsOnlyIn80Columns) {
  const std::string text = doctor::devices_table({doctor::diagnose(sound_gpu())}, {.width = 80});
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "device  verdict  deg C  MHz        throttled  ECC  errors  PCIe   NVLink  MIG");
}

TEST(DevicesTable, SaysBelowWhatIsWrongWithWhich) {
  doctor::DoctorFacts ailing = second_gpu();
  ailing.gpu->before.pcie.width = 8;
  ailing.gpu->before.nvlinks->active = 16;
  const std::string text = table({sound_gpu(), ailing});
  EXPECT_THAT(text, AllOf(HasSubstr("doubtful"), HasSubstr("5 x8"), HasSubstr("16/18"),
                          HasSubstr("cuda:1: NVIDIA H200"), HasSubstr("the card has 16 lanes"),
                          HasSubstr("fix: nvidia-smi nvlink --status")));
  EXPECT_THAT(text, Not(HasSubstr("cuda:0: NVIDIA H200")));
}

TEST(DevicesTable, NamesAGpuThatCannotBeExamined) {
  const doctor::Diagnosis lost =
      doctor::without_facts(second_gpu().device, "it has fallen off the bus");
  const std::string text = doctor::devices_table({doctor::diagnose(sound_gpu()), lost}, kWide);
  EXPECT_THAT(text, AllOf(HasSubstr("worthless"), HasSubstr("it has fallen off the bus")));
}

}  // namespace
}  // namespace nf4bench
