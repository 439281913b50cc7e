#include "nf4/format.hpp"

#include "nf4/arithmetic.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace nf4bench {
namespace {

// Read back from bitsandbytes' own quant_map, as float32 bits.
constexpr std::uint32_t kCodebookBits[nf4::kCodes] = {
    0xbf800000, 0xbf3239b1, 0xbf066b30, 0xbeca32a0, 0xbe91a24d, 0xbe3d353f, 0xbdba7871, 0x00000000,
    0x3da2faff, 0x3e24cae3, 0x3e7c04dd, 0x3ead033a, 0x3ee1a4b8, 0x3f1007ab, 0x3f3913b3, 0x3f800000,
};

TEST(Format, CodebookHasTheBitsOfBitsandbytes) {
  for (int code = 0; code < nf4::kCodes; ++code) {
    EXPECT_EQ(nf4::bits_of(nf4::codebook_value(code)), kCodebookBits[code]) << "code " << code;
  }
}

TEST(Format, OnlyPowersOfTwoFrom32To4096AreBlocksizes) {
  int legal = 0;
  for (std::int64_t size = -4096; size <= 100'000; ++size)
    legal += nf4::is_legal_blocksize(size) ? 1 : 0;
  EXPECT_EQ(legal, 8);
  for (const int size : {32, 64, 128, 256, 512, 1024, 2048, 4096}) {
    EXPECT_TRUE(nf4::is_legal_blocksize(size)) << size;
  }
  EXPECT_FALSE(nf4::is_legal_blocksize(INT64_MIN));
}

TEST(Format, CountsRoundUp) {
  EXPECT_EQ(nf4::packed_bytes(0), 0);
  EXPECT_EQ(nf4::packed_bytes(1), 1);
  EXPECT_EQ(nf4::packed_bytes(2), 1);
  EXPECT_EQ(nf4::packed_bytes(65), 33);
  EXPECT_EQ(nf4::block_count(0, 64), 0);
  EXPECT_EQ(nf4::block_count(1, 64), 1);
  EXPECT_EQ(nf4::block_count(64, 64), 1);
  EXPECT_EQ(nf4::block_count(65, 64), 2);
}

TEST(Format, CountsDoNotOverflowAtTheTop) {
  EXPECT_EQ(nf4::packed_bytes(INT64_MAX), INT64_MAX / 2 + 1);
  EXPECT_EQ(nf4::block_count(INT64_MAX, 4096), INT64_MAX / 4096 + 1);
}

}  // namespace
}  // namespace nf4bench
