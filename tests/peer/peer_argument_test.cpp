#include "peer/peer_argument.hpp"

#include "error_of.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using test::error_of;

std::string complaint(const std::vector<std::string>& words) {
  return error_of(ErrorKind::kUsage, [&] { peer::parse_peers(words); });
}

TEST(PeerArgument, IsANameAndAPath) {
  const auto peers = peer::parse_peers({"mine=./lib.so", "their_s-2=/opt/a=b/x.so"});
  ASSERT_EQ(peers.size(), 2u);
  EXPECT_EQ(peers[0].name, "mine");
  EXPECT_EQ(peers[0].path, "./lib.so");
  EXPECT_EQ(peers[1].name, "their_s-2");
  EXPECT_EQ(peers[1].path, "/opt/a=b/x.so");  // the first = ends the name
}

TEST(PeerArgument, NoneAreFine) {
  EXPECT_TRUE(peer::parse_peers({}).empty());
}

TEST(PeerArgument, NeedsAnEqualsSign) {
  EXPECT_NE(complaint({"./lib.so"}).find("NAME=PATH"), std::string::npos);
}

TEST(PeerArgument, RefusesNamesThatAreNone) {
  for (const char* word : {"=./lib.so", "a b=./lib.so", "a.b=./lib.so", "a#2=./lib.so",
                           "a*=./lib.so", "\n=./lib.so"}) {
    const std::string message = complaint({word});
    EXPECT_NE(message.find("is no name"), std::string::npos) << word;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  EXPECT_EQ(complaint({std::string(64, 'a') + "=./lib.so"}), "");
  EXPECT_NE(complaint({std::string(65, 'a') + "=./lib.so"}), "");
}

TEST(PeerArgument, RefusesAPathThatTheLinkerWouldSearchFor) {
  EXPECT_NE(complaint({"mine=lib.so"}).find("./lib.so"), std::string::npos);
  EXPECT_NE(complaint({"mine="}).find("is no path"), std::string::npos);
}

TEST(PeerArgument, RefusesANameGivenTwice) {
  EXPECT_NE(complaint({"mine=./a.so", "mine=./b.so"}).find("mine"), std::string::npos);
}

}  // namespace
}  // namespace nf4bench
