#include "record/cell.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

record::Cell some_cell() {
  return {.operation = record::kDequantize, .tensor = "t0", .device = "cuda:0"};
}

TEST(Cell, DiffersInEachOfItsParts) {
  const auto differs = [](auto&& change) {
    record::Cell other = some_cell();
    change(other);
    return other != some_cell();
  };
  EXPECT_EQ(some_cell(), some_cell());
  EXPECT_TRUE(differs([](record::Cell& cell) { cell.operation = "another"; }));
  EXPECT_TRUE(differs([](record::Cell& cell) { cell.tensor = "t1"; }));
  EXPECT_TRUE(differs([](record::Cell& cell) { cell.device = "cuda:1"; }));
  EXPECT_TRUE(differs([](record::Cell& cell) { cell.output_type = nf4::OutputType::kFloat32; }));
  EXPECT_TRUE(differs([](record::Cell& cell) { cell.tokens = 1; }));
  EXPECT_TRUE(differs([](record::Cell& cell) { cell.cache = record::CacheMode::kHot; }));
  EXPECT_TRUE(differs([](record::Cell& cell) { cell.launch = record::LaunchMode::kStream; }));
}

TEST(Cell, OverAllTensorsForgetsTheTensorAlone) {
  record::Cell other = some_cell();
  other.tensor = "t1";
  EXPECT_EQ(some_cell().over_all_tensors(), other.over_all_tensors());
  other.device = "cpu";
  EXPECT_NE(some_cell().over_all_tensors(), other.over_all_tensors());
  record::Cell named = some_cell().over_all_tensors();
  named.tensor = "t0";
  EXPECT_EQ(named, some_cell());
}

}  // namespace
}  // namespace nf4bench
