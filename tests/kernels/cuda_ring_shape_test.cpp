// Where mma_ring has its operands in shared memory: each thing once, and what a warp reads at once
// in different banks.

#include "cuda/matmul/ring/ring_shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace nf4bench::kernels::cuda {
namespace {

using FourBlocks = RingShape<2, 4, 4, 2, 4, 4, 4>;
using TwoBlocks = RingShape<8, 1, 2, 16, 2, 2, 0>;
using EightHalves = RingShape<1, 4, 4, 2, 8, 3, 4, 32>;
using FourHalves = RingShape<4, 2, 2, 8, 4, 2, 4, 32>;

// The 4-byte banks that accesses of so many bytes take.
std::multiset<int> banks_of(const std::vector<int>& addresses, int bytes) {
  std::multiset<int> banks;
  for (const int address : addresses) {
    for (int i = 0; i < bytes; i += 4) banks.insert((address + i) / 4 % 32);
  }
  return banks;
}

bool is_free_of_conflicts(const std::vector<int>& addresses, int bytes) {
  const std::multiset<int> banks = banks_of(addresses, bytes);
  return std::set<int>(banks.begin(), banks.end()).size() == banks.size();
}

TEST(RingShape, RowsOfATileAreThoseOfTheWeight) {
  std::set<int> rows;
  for (int place = 0; place < 32; ++place) rows.insert(row_of_place(place));
  EXPECT_EQ(rows.size(), 32u);
  EXPECT_EQ(*rows.rbegin(), 31);
  for (int tile = 0; tile < 32; tile += 16) {
    for (int g = 0; g < 8; ++g) {
      EXPECT_EQ(row_of_place(tile + g), tile + 2 * g);
      EXPECT_EQ(row_of_place(tile + g + 8), tile + 2 * g + 1);
    }
  }
}

template <class Shape>
void expect_weights_apart() {
  std::set<int> places;
  for (int place = 0; place < Shape::kRows; ++place) {
    for (int block = 0; block < Shape::kStageBlocks; ++block) {
      const int at = weight_place<Shape>(place, block);
      EXPECT_EQ(at % Shape::kBlockBytes, 0);
      EXPECT_LE(at + Shape::kBlockBytes, Shape::kWeightBytes);
      places.insert(at);
    }
  }
  EXPECT_EQ(places.size(), static_cast<std::size_t>(Shape::kRows * Shape::kStageBlocks));
  // Loads of 8 bytes are served by half warps, which have four rows, those of 4 by whole ones.
  constexpr int kLaneBytes = Shape::kBlockBytes / 4;
  constexpr int kTogether = 128 / kLaneBytes;
  for (int block = 0; block < Shape::kStageBlocks; ++block) {
    for (int first = 0; first < Shape::kRows; first += kTogether / 4) {
      std::vector<int> addresses;
      for (int lane = 0; lane < kTogether; ++lane) {
        addresses.push_back(weight_place<Shape>(first + lane / 4, block) + lane % 4 * kLaneBytes);
      }
      EXPECT_TRUE(is_free_of_conflicts(addresses, kLaneBytes)) << block << " " << first;
    }
  }
}

TEST(RingShape, WordsThatAWarpReadsTogetherAreInDifferentBanks) {
  expect_weights_apart<FourBlocks>();
  expect_weights_apart<TwoBlocks>();
  expect_weights_apart<EightHalves>();
  expect_weights_apart<FourHalves>();
}

// Copies of 16 bytes are made by eight threads together, of an input's columns and of the inputs
// whose places follow. Of an input lanes read as many bytes as an mma tile has rows a lane.
template <class Shape>
void expect_transposed_weights_apart() {
  constexpr int kChunks = Shape::kRows / 32;
  std::set<int> places;
  for (int first = 0; first < Shape::kInputs * kChunks; first += 8) {
    std::vector<int> addresses;
    for (int copy = first; copy < first + 8; ++copy) {
      addresses.push_back(transposed_weight_place<Shape>(copy % kChunks / 2, copy / kChunks) +
                          copy % 2 * 16);
    }
    EXPECT_TRUE(is_free_of_conflicts(addresses, 16)) << first;
    places.insert(addresses.begin(), addresses.end());
  }
  EXPECT_EQ(places.size() * 16, static_cast<std::size_t>(Shape::kWeightBytes));
  EXPECT_LE(*places.rbegin() + 16, Shape::kWeightBytes);
  for (int column = 0; column < Shape::kColumns; ++column) {
    for (int first = 0; first < Shape::kInputs; first += 4) {
      std::set<int> words;
      for (int t = 0; t < 4; ++t) {
        EXPECT_EQ(input_of_place(first + t), input_of_place(first) + 16 * t);
        const int at = transposed_weight_place<Shape>(column, first + t);
        for (int word = 0; word < 8; ++word) words.insert((at / 4 + word) % 32);
      }
      EXPECT_EQ(words.size(), 32u) << first;
    }
  }
}

TEST(RingShape, TransposedWeightsThatAreReadOrCopiedTogetherAreInDifferentBanks) {
  expect_transposed_weights_apart<FourBlocks::Transposed>();
  expect_transposed_weights_apart<TwoBlocks::Transposed>();
  expect_transposed_weights_apart<RingShape<1, 4, 4, 1, 4, 4, 4>::Transposed>();
}

template <class Shape>
void expect_tokens_apart() {
  constexpr int kChunks = Shape::kTokenBlockBytes / 16;
  std::set<int> places;
  for (int block = 0; block < Shape::kStageBlocks; ++block) {
    for (int token = 0; token < Shape::kTokens; ++token) {
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        places.insert(token_place<Shape>(token, block, chunk));
      }
    }
  }
  EXPECT_EQ(places.size() * 16, static_cast<std::size_t>(Shape::kTokenBytes));
  // Loads of 16 bytes are served by eight lanes, which have two tokens.
  for (int i = 0; i < kChunks / 4; ++i) {
    for (int first = 0; first < Shape::kTokens; first += 2) {
      std::vector<int> addresses;
      for (int lane = 0; lane < 8; ++lane) {
        addresses.push_back(token_place<Shape>(first + lane / 4, 1, kChunks / 4 * (lane % 4) + i));
      }
      EXPECT_TRUE(is_free_of_conflicts(addresses, 16)) << i << " " << first;
    }
  }
}

TEST(RingShape, TokensThatAWarpReadsTogetherAreInDifferentBanks) {
  expect_tokens_apart<FourBlocks>();
  expect_tokens_apart<EightHalves>();
}

template <class Shape>
void expect_parts_in_order() {
  EXPECT_EQ(Shape::kSlotBytes % 16, 0);
  EXPECT_GE(Shape::kTokensAt, Shape::kWeightBytes);
  EXPECT_GE(Shape::kWideAt - Shape::kScalesAt, Shape::kStageBlocks * Shape::kRows * 4);
  EXPECT_GE(Shape::kSlotBytes - Shape::kWideAt, Shape::kProducers / 32 * 4);
  EXPECT_EQ(Shape::kMap, Shape::kExchange + Shape::kGroups * Shape::kGroupExchangeBytes);
  EXPECT_EQ(Shape::kBarriers % 8, 0);
}

TEST(RingShape, PartsOfSharedMemoryDoNotOverlap) {
  expect_parts_in_order<FourBlocks>();
  expect_parts_in_order<TwoBlocks>();
  expect_parts_in_order<EightHalves>();
  expect_parts_in_order<FourHalves>();
}

}  // namespace
}  // namespace nf4bench::kernels::cuda
