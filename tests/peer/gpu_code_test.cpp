#include "peer/gpu_code.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace nf4bench {
namespace {

// Writes fat binaries as nvcc lays them out: a 16-byte header, then entries of a 64-byte header
// (kind at 0, its own size at 4, the code's size at 8, the architecture at 28) and the code.
class FatBinary {
 public:
  template <class Value>
  void put(std::size_t at, Value value) {
    if (bytes_.size() < at + sizeof(value)) bytes_.resize(at + sizeof(value));
    std::memcpy(bytes_.data() + at, &value, sizeof(value));
  }

  void add(std::uint16_t kind, std::uint32_t architecture, std::uint64_t code_bytes = 40) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + 64 + code_bytes);
    put(at, kind);
    put<std::uint32_t>(at + 4, 64);
    put(at + 8, code_bytes);
    put(at + 28, architecture);
  }

  // As part of a library, `before` bytes from its start.
  std::vector<std::byte> in_library(std::size_t before = 4096) {
    put<std::uint32_t>(0, 0xba55ed50);
    put<std::uint16_t>(4, 1);
    put<std::uint16_t>(6, 16);
    put<std::uint64_t>(8, bytes_.size() - 16);
    std::vector<std::byte> library(before);
    library.insert(library.end(), bytes_.begin(), bytes_.end());
    library.resize(library.size() + 100);
    return library;
  }

 private:
  std::vector<std::byte> bytes_{16};
};

TEST(GpuCode, ListsBinariesAndPtxOfEveryFatBinary) {
  FatBinary first;
  first.add(2, 80);
  first.add(2, 75);
  first.add(1, 120, 1000);
  FatBinary second;
  second.add(2, 80);
  second.add(2, 120);
  std::vector<std::byte> library = first.in_library();
  library.resize((library.size() + 7) / 8 * 8);
  const std::vector<std::byte> more = second.in_library(0);
  library.insert(library.end(), more.begin(), more.end());
  const peer::GpuCode code = peer::gpu_code_of(library);
  EXPECT_EQ(code.binaries, (std::vector<int>{75, 80, 120}));
  EXPECT_EQ(code.ptx, std::vector<int>{120});
}

TEST(GpuCode, BinariesRunOnTheirMajorVersionFromTheirMinorOneOn) {
  const peer::GpuCode code = {.binaries = {75, 86, 90}, .ptx = {}};
  EXPECT_TRUE(code.may_run_on(75));
  EXPECT_FALSE(code.may_run_on(80));
  EXPECT_TRUE(code.may_run_on(86));
  EXPECT_TRUE(code.may_run_on(89));
  EXPECT_TRUE(code.may_run_on(90));
  EXPECT_FALSE(code.may_run_on(70));
  EXPECT_FALSE(code.may_run_on(100));
}

TEST(GpuCode, PtxRunsOnEverythingLater) {
  const peer::GpuCode code = {.binaries = {75}, .ptx = {80}};
  EXPECT_FALSE(code.may_run_on(72));
  EXPECT_TRUE(code.may_run_on(80));
  EXPECT_TRUE(code.may_run_on(120));
}

TEST(GpuCode, NothingKnownRefusesNothing) {
  EXPECT_TRUE(peer::gpu_code_of({}).may_run_on(90));
  EXPECT_TRUE(peer::gpu_code_of(std::vector<std::byte>(1000)).may_run_on(90));
}

TEST(GpuCode, SurvivesEveryTruncationAndDamage) {
  FatBinary fat;
  fat.add(2, 80);
  fat.add(2, 90);
  const std::vector<std::byte> whole = fat.in_library(16);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<std::byte> part(whole.begin(),
                                      whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_LE(peer::gpu_code_of(part).binaries.size(), 2u);
  }
  for (std::size_t at = 16; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] = std::byte{0xff};
    EXPECT_LE(peer::gpu_code_of(damaged).binaries.size(), 3u);
  }
}

}  // namespace
}  // namespace nf4bench
