#include "device/cpu/cpu_facts.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

TEST(CpuFacts, AreOfARealMachine) {
  EXPECT_FALSE(device::cpu_name().empty());
  EXPECT_EQ(device::cpu_name().find('\n'), std::string::npos);
  EXPECT_GE(device::last_level_cache_bytes(), 256 << 10);
  EXPECT_LE(device::last_level_cache_bytes(), std::int64_t{64} << 30);
  EXPECT_GT(device::physical_memory_bytes(), 64 << 20);
  EXPECT_GT(device::available_memory_bytes(), 0);
  EXPECT_LE(device::available_memory_bytes(), device::physical_memory_bytes());
}

}  // namespace
}  // namespace nf4bench
