#include "device/cpu/shared_arena.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nf4bench {
namespace {

using device::OthersMay;
using device::SharedArena;

constexpr std::int64_t kBytes = std::int64_t{4} << 20;

Descriptor opened_again(const SharedArena& arena) {
  const std::string path = "/proc/self/fd/" + std::to_string(arena.descriptor());
  return Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
}

bool takes_writing(const Descriptor& file) {
  const char byte = 1;
  void* const mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped != MAP_FAILED) munmap(mapped, 4096);
  return mapped != MAP_FAILED || pwrite(file.get(), &byte, 1, 0) == 1;
}

std::int64_t memory_of(const SharedArena& arena) {
  struct stat facts = {};
  EXPECT_EQ(fstat(arena.descriptor(), &facts), 0);
  return 512 * facts.st_blocks;
}

TEST(SharedArena, IsWrittenByOthersOnlyWhereTheyMay) {
  const SharedArena inputs("inputs", OthersMay::kRead);
  const SharedArena outputs("outputs", OthersMay::kWrite);
  EXPECT_FALSE(takes_writing(opened_again(inputs)));
  EXPECT_TRUE(takes_writing(opened_again(outputs)));
}

TEST(SharedArena, CannotBeCutShortUnderThoseWhoWriteIt) {
  const SharedArena outputs("outputs", OthersMay::kWrite);
  EXPECT_NE(ftruncate(opened_again(outputs).get(), 0), 0);
}

TEST(SharedArena, GivesBackItsMemoryAndIsThereAgain) {
  for (const OthersMay others : {OthersMay::kRead, OthersMay::kWrite}) {
    SharedArena arena("arena", others);
    for (int round = 0; round < 2; ++round) {
      const std::array<std::byte*, 2> blocks = {arena.allocate(kBytes), arena.allocate(100)};
      std::memset(blocks[0], 1, kBytes);
      std::memset(blocks[1], 1, 100);
      EXPECT_GE(memory_of(arena), kBytes);
      for (std::byte* const block : blocks) arena.release(block);
      EXPECT_EQ(memory_of(arena), 0);
    }
  }
}

}  // namespace
}  // namespace nf4bench
