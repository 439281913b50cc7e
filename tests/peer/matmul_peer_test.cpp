// Matrix products of peers that were made with nf4bench_peer.h, on the CPU device.

#include "peer/peers.hpp"
#include "peer/product.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

using test::find;
using test::Product;
using testing::ElementsAre;
using testing::HasSubstr;

peer::Peers load(const char* script, const std::string& operation,
                 const char* path = TEST_PEER_SCRIPTED) {
  setenv("NF4BENCH_TEST_PEER", script, 1);
  peer::Peers peers({{"mine", path}}, {.kind = record::DeviceKind::kCpu, .operation = operation},
                    {});
  unsetenv("NF4BENCH_TEST_PEER");
  return peers;
}

std::vector<std::string> names_of(const peer::Peers& peers) {
  std::vector<std::string> names;
  for (const kernels::Variant& variant : peers.variants()) names.emplace_back(variant.name);
  return names;
}

TEST(MatmulPeer, OffersForEachOperationWhatItsTableSays) {
  EXPECT_THAT(names_of(load("products", "dequantize")), ElementsAre("mine"));
  EXPECT_THAT(names_of(load("products", "matmul")),
              ElementsAre("mine", "mine.short", "mine.halves", "mine.decodes", "mine.asks"));
}

TEST(MatmulPeer, GetsTokensSizesAndInput) {
  const peer::Peers peers = load("products", "matmul");
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
      for (const std::int64_t tokens : {1, 3, 17}) {
        Product product({.shape = {20, 77}, .absmax_kind = kind}, type, tokens);
        EXPECT_EQ(product.verdict(find(peers, "mine")), "") << tokens << to_string(type);
      }
    }
  }
}

TEST(MatmulPeer, IsAskedWithSizesAndWithoutBuffers) {
  const peer::Peers peers = load("products", "matmul");
  Product nested({.shape = {20, 77}}, nf4::OutputType::kFloat16, 3);
  EXPECT_EQ(nested.workload().unsupported(find(peers, "mine.asks")),
            "operation 1, 3 x 20 x 77, nested 1");
  Product plain({.shape = {64, 128}, .absmax_kind = nf4::AbsmaxKind::kPlain},
                nf4::OutputType::kFloat16, 1);
  EXPECT_EQ(plain.workload().unsupported(find(peers, "mine.asks")),
            "operation 1, 1 x 64 x 128, nested 0");
}

TEST(MatmulPeer, ThatLiesIsFound) {
  const peer::Peers peers = load("products", "matmul");
  Product product({.shape = {4, 256}}, nf4::OutputType::kBfloat16, 3);
  EXPECT_EQ(product.verdict(find(peers, "mine.short")), "wrong");
  EXPECT_EQ(product.verdict(find(peers, "mine.decodes")), "wrote past the end of its output");
  for (int call = 0; call < 100; ++call) {
    ASSERT_EQ(product.verdict(find(peers, "mine.halves")), "");
  }
  EXPECT_EQ(product.verdict(find(peers, "mine.halves")), "wrong");
  EXPECT_EQ(product.verdict(find(peers, "mine")), "");
}

}  // namespace
}  // namespace nf4bench
