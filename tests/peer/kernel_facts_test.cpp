// What is known of a kernel before it runs: how many of its warps fit, what its code has.

#include "peer/kernel/kernel_facts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

using peer::instruction_mix;

// Of blocks of a kernel on a GPU of this compute capability.
record::Launch launch_on(int capability, const record::Launch& launch) {
  return peer::with_occupancy(launch, {.compute_capability = capability, .multiprocessors = 132});
}

std::optional<double> occupancy(int capability, const record::Launch& launch) {
  return launch_on(capability, launch).occupancy;
}

TEST(Occupancy, IsLimitedByWhatRunsOutFirst) {
  EXPECT_EQ(occupancy(90, {.block = 256, .registers = 32}), 1.0);
  EXPECT_EQ(occupancy(90, {.block = 256, .registers = 33}), 0.75);  // 40 are taken
  EXPECT_EQ(occupancy(90, {.block = 32, .registers = 16}), 0.5);    // 32 blocks
  EXPECT_EQ(occupancy(86, {.block = 32, .registers = 16}), 16.0 / 48.0);
  EXPECT_EQ(occupancy(90, {.block = 1024, .registers = 65}), 0.0);
  EXPECT_EQ(occupancy(75, {.block = 1024, .registers = 64}), 1.0);
}

TEST(Occupancy, OfSharedMemoryTheSystemHasAKibibyteOfEachBlock) {
  EXPECT_EQ(occupancy(90, {.block = 256, .registers = 32, .shared_bytes = 75 << 10}), 0.375);
  EXPECT_EQ(occupancy(90, {.block = 256, .registers = 32, .shared_bytes = (75 << 10) + 1}), 0.25);
  EXPECT_EQ(occupancy(75, {.block = 256, .registers = 32, .shared_bytes = 32 << 10}), 0.5);
  EXPECT_EQ(occupancy(90, {.block = 256, .registers = 32, .shared_bytes = 228 << 10}), 0.0);
}

TEST(Occupancy, IsOfTheRegistersThatAThreadIsGiven) {
  EXPECT_EQ(peer::registers_given(14), 16);
  EXPECT_EQ(peer::registers_given(16), 16);
  EXPECT_EQ(peer::registers_given(255), 256);
}

TEST(Occupancy, HasAReason) {
  using record::Resource;
  const auto limit = [](const record::Launch& launch) {
    return launch_on(90, launch).occupancy_limit;
  };
  EXPECT_EQ(limit({.block = 256, .registers = 33}), Resource::kRegisters);
  EXPECT_EQ(limit({.block = 32, .registers = 16}), Resource::kBlocks);
  EXPECT_EQ(limit({.block = 256, .registers = 32, .shared_bytes = 75 << 10}), Resource::kShared);
  EXPECT_EQ(limit({.block = 1024, .registers = 32}), Resource::kWarps)
      << "registers end there, too";
}

TEST(Occupancy, TellsWaves) {
  EXPECT_EQ(launch_on(90, {.grid = 132 * 2, .block = 256, .registers = 32}).waves, 0.25);
  EXPECT_EQ(launch_on(90, {.grid = 132 * 9, .block = 1024, .registers = 64}).waves, 9.0);
  EXPECT_FALSE(launch_on(90, {.grid = 9, .block = 1024, .registers = 65}).waves) << "none fits";
}

TEST(Occupancy, IsNotKnownOfEveryGpu) {
  EXPECT_FALSE(occupancy(61, {.block = 256, .registers = 32}));
  EXPECT_FALSE(occupancy(0, {.block = 256, .registers = 32}));
}

// As cuobjdump prints a function, the code of each instruction left out.
std::string sass_of(const std::vector<std::string>& instructions) {
  std::string text = "\tcode for sm_90\n\t\tFunction : other\n        /*0000*/  EXIT ;\n";
  text += "\t\tFunction : decode\n\t.headerflags\t@\"EF_CUDA_SM90\"\n";
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    text += "        /*00" + std::string(1, kDigits[i]) + "0*/                   ";
    text += instructions[i] + " ;                     /* 0x00000a00ff017b82 */\n";
    text += "                                          /* 0x000fe20000000800 */\n";
  }
  return text;
}

TEST(InstructionMix, IsOfTheWayThatMakesTheWidestStores) {
  const auto mix = instruction_mix(
      sass_of({"ISETP.GE.AND P0, PT, R3, UR4, PT", "@P0 BRA 0x70", "LDG.E R2, desc[UR4][R2.64]",
               "@!P1 LOP3.LUT R4, R2, 0xf, RZ, 0xc0, !PT", "IMAD.MOV.U32 R3, RZ, RZ, RZ", "NOP",
               "STG.E.128 desc[UR4][R6.64], R8", "EXIT", "STG.E.U16 desc[UR4][R6.64], R8", "EXIT"}),
      "decode", 2);
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->issued, 7.0 / 8.0);
  EXPECT_EQ(mix->alu, 2.0 / 8.0);
  EXPECT_EQ(mix->fma, 1.0 / 8.0);
  EXPECT_EQ(mix->global, 2.0 / 8.0);
  EXPECT_EQ(mix->shared, 0.0);
}

TEST(InstructionMix, CountsALoopOnce) {
  const auto mix = instruction_mix(
      sass_of({"LDS R2, [R3]", "STG.E desc[UR4][R6.64], R8", "@P0 BRA 0x0", "EXIT", "BRA 0x40"}),
      "decode", 4);
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->issued, 4.0);
  EXPECT_EQ(mix->shared, 1.0);
}

TEST(InstructionMix, IsNotKnownOfWhatStoresNothingOrIsNotThere) {
  EXPECT_FALSE(instruction_mix(sass_of({"FMUL R2, R3, R4", "EXIT"}), "decode", 2));
  EXPECT_FALSE(instruction_mix(sass_of({"STG.E [R2], R3", "EXIT"}), "another", 2));
  EXPECT_FALSE(instruction_mix("", "decode", 2));
}

}  // namespace
}  // namespace nf4bench
