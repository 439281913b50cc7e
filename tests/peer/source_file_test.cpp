// Peers that are source files: compiled when they are asked for, and kept by their content.

#include "peer/source_file.hpp"

#include "base/error.hpp"
#include "cli/process.hpp"
#include "peer/peers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <map>

namespace nf4bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kPeer = R"(#include "nf4bench_peer.h"
#include "number.hpp"

namespace {

int decode(const nf4bench_peer_job*, void*) {
  return kNumber;
}

const nf4bench_peer_variant kVariant = {
    "decode", "returns a number", NF4BENCH_PEER_DEQUANTIZE, NF4BENCH_PEER_CPU, 1, 0, nullptr, nullptr, decode};
const nf4bench_peer_table kTable = {
    NF4BENCH_PEER_ABI, sizeof(nf4bench_peer_variant), 1, sizeof(nf4bench_peer_table), &kVariant, nullptr};

}  // namespace

extern "C" const nf4bench_peer_table* nf4bench_peer_v2(void) {
  return &kTable;
}
)";

class SourceFile : public testing::Test {
 protected:
  SourceFile() {
    setenv("XDG_CACHE_HOME", folder_.path("cache").c_str(), 1);
    unsetenv("CXX");
  }
  ~SourceFile() override {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("CXX");
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name)) << text;
    return folder_.path(name);
  }

  static std::vector<std::string> warnings_of(const std::string& path) {
    const peer::Peers peers({{"mine", path}}, {.kind = record::DeviceKind::kCpu}, {});
    EXPECT_THAT(peers.variants(), IsEmpty());
    return peers.warnings();
  }

  test::ScratchFolder folder_;
};

TEST_F(SourceFile, IsAPeerOnceCompiled) {
  write("number.hpp", "constexpr int kNumber = 7;");
  const peer::Peers peers({{"mine", write("peer.cpp", kPeer)}}, {.kind = record::DeviceKind::kCpu},
                          {});
  EXPECT_THAT(peers.warnings(), IsEmpty());
  ASSERT_THAT(peers.variants(), SizeIs(1));
  EXPECT_STREQ(peers.variants().front().name, "mine.decode");
}

TEST_F(SourceFile, IsCompiledAgainOnlyWhenWhatItReadsHasChanged) {
  write("number.hpp", "constexpr int kNumber = 7;");
  const std::string path = write("peer.cpp", kPeer);
  const std::string first = peer::compiled_library(path);
  EXPECT_EQ(peer::compiled_library(path), first);
  write("number.hpp", "constexpr int kNumber = 8;");
  EXPECT_NE(peer::compiled_library(path), first);
}

TEST_F(SourceFile, NamesTheLineThatDoesNotCompile) {
  EXPECT_THAT(warnings_of(write("peer.cpp", "int a;\nint b = c;\n")),
              ElementsAre(HasSubstr("peer.cpp:2:9: error: ")));
  EXPECT_THAT(warnings_of(write("peer.cpp", "#include \"none.hpp\"\n")),
              ElementsAre(HasSubstr("peer.cpp:1:10: fatal error: ")));
}

TEST_F(SourceFile, WhatPtxasSaysOfOtherKernelsIsNoError) {
  const peer::CompileError error = peer::compile_error(
      "mine.cu",
      "ptxas info    : 0 bytes gmem\n    0 bytes stack frame, 0 bytes spill stores\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n");
  EXPECT_THAT(error.what(), HasSubstr("does not compile: ptxas fatal   : Ptx assembly aborted"));
}

TEST_F(SourceFile, SaysWhichCompilerIsMissing) {
  setenv("CXX", "no-such-compiler", 1);
  EXPECT_THAT(warnings_of(write("peer.cpp", "")),
              ElementsAre(HasSubstr("needs the compiler no-such-compiler, which is not found")));
}

TEST_F(SourceFile, IsCompiledByAllWordsOfTheVariable) {
  setenv("CXX", "env c++", 1);
  write("number.hpp", "constexpr int kNumber = 7;");
  EXPECT_NO_THROW(peer::compiled_library(write("peer.cpp", kPeer)));
}

// The loader keeps one of such variables for all libraries of a process.
TEST_F(SourceFile, OfTwoVersionsEachIsWhatItIs) {
  constexpr const char* kVersion = R"(#include "nf4bench_kernel.h"
inline float& factor() { static float value = 1.0f; return value; }
static int decode(const nf4bench_peer_job* job, void*) {
  for (int64_t i = 0; i < job->elements; ++i) nf4::store(*job, i, nf4::value(*job, i) * factor());
  return 0;
}
NF4BENCH_CPU_DECODE(decode)
)";
  std::string zeros = kVersion;
  zeros.replace(zeros.find("1.0f"), 4, "0.0f");
  const test::Outcome outcome = test::nf4bench(
      {"run", "--device", "cpu", "--shape", "64x64", "--max-time", "0.01", "--no-ceilings",
       "--cache", "hot", "--quiet", "--json", "-", "--peer", "old=" + write("old.cpp", kVersion),
       "--peer", "new=" + write("new.cpp", zeros), "--variant", "old*,new*"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  std::map<std::string, std::string> found;
  for (const nlohmann::json& row : report.at("measurements")) {
    found.emplace(row.at("variant"), row.at("status"));
  }
  EXPECT_EQ(found["old"], "passed");
  EXPECT_EQ(found["new"], "failed");
}

TEST_F(SourceFile, IsNoFolderAndNoMissingFile) {
  EXPECT_THAT(warnings_of(folder_.path("none.cpp")), ElementsAre(HasSubstr("No such file")));
}

}  // namespace
}  // namespace nf4bench
