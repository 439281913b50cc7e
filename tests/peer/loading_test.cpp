// What happens with a library that cannot be used: a warning that says why, and no variants.

#include "cli/process.hpp"
#include "error_of.hpp"
#include "peer/peers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

namespace nf4bench {
namespace {

using test::error_of;
using test::ScratchFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

peer::Peers load(const std::string& path, record::DeviceKind kind = record::DeviceKind::kCpu) {
  return peer::Peers({{"mine", path}}, {.kind = kind}, {});
}

// The one warning about a library that offers nothing.
std::string warning_of(const peer::Peers& peers) {
  EXPECT_THAT(peers.variants(), IsEmpty());
  EXPECT_THAT(peers.absent(), ElementsAre("mine"));
  EXPECT_EQ(peers.warnings().size(), 1u);
  const std::string warning = peers.warnings().empty() ? "" : peers.warnings().front();
  EXPECT_THAT(warning, AllOf(HasSubstr("peer mine: "), Not(HasSubstr("\n"))));
  return warning;
}

std::string bytes_of(const std::string& path) {
  return test::read_file(path);
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Loading, SaysThatAFileIsMissing) {
  EXPECT_THAT(warning_of(load("/nowhere/lib.so")),
              AllOf(HasSubstr("/nowhere/lib.so"), HasSubstr("No such file")));
}

TEST(Loading, RefusesFoldersAndPipes) {
  const ScratchFolder scratch;
  ASSERT_EQ(mkfifo(scratch.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(warning_of(load(scratch.path("pipe"))), HasSubstr("no regular file"));
  EXPECT_THAT(warning_of(load(scratch.path("."))), HasSubstr("no regular file"));
}

TEST(Loading, SaysThatAFileIsNoLibrary) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("text.so");
  write_bytes(path, std::string(1000, 'x'));
  EXPECT_THAT(warning_of(load(path)), HasSubstr("invalid ELF header"));
  write_bytes(path, "");
  EXPECT_THAT(warning_of(load(path)), HasSubstr("file too short"));
}

TEST(Loading, SaysThatALibraryIsForAnotherMachine) {
  const ScratchFolder scratch;
  std::string bytes = bytes_of(TEST_PEER_SCRIPTED);
  bytes[4] = 1;  // 32 bits
  write_bytes(scratch.path("narrow.so"), bytes);
  EXPECT_THAT(warning_of(load(scratch.path("narrow.so"))), HasSubstr("wrong ELF class"));
  bytes = bytes_of(TEST_PEER_SCRIPTED);
  bytes[18] = 8;  // MIPS
  write_bytes(scratch.path("mips.so"), bytes);
  EXPECT_THAT(warning_of(load(scratch.path("mips.so"))),
              AllOf(HasSubstr("cannot load"), Not(HasSubstr("LD_LIBRARY_PATH"))));
}

TEST(Loading, NamesASymbolThatNobodyDefines) {
  EXPECT_THAT(warning_of(load(TEST_PEER_UNDEFINED)),
              HasSubstr("undefined symbol: nf4bench_test_defined_nowhere"));
}

TEST(Loading, SaysWhatALibraryOfAnotherPurposeLacks) {
  // The C library of this process, by the path of the file it was loaded from.
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::string libc;
  while (std::getline(maps, line)) {
    if (line.find("/libc.so") != std::string::npos) libc = line.substr(line.find('/'));
  }
  ASSERT_FALSE(libc.empty());
  EXPECT_THAT(warning_of(load(libc)),
              AllOf(HasSubstr("nf4bench_peer_v2"), HasSubstr("bitsandbytes")));
}

TEST(Loading, NamesTheFunctionsForTheCpuThatBitsandbytesLacks) {
  EXPECT_THAT(
      warning_of(load(TEST_BNB)),
      AllOf(HasSubstr("lacks cdequantize_blockwise_cpu_fp32, cdequantize_blockwise_cpu_nf4"),
            HasSubstr("such as libbitsandbytes_cpu.so")));
}

TEST(Loading, SaysThatBitsandbytesForTheCpuIsNoneForCuda) {
  const peer::Peers peers({{"mine", TEST_BNB_CPU}},
                          {.kind = record::DeviceKind::kCuda, .tools = peer::CudaTools{}}, {});
  EXPECT_THAT(warning_of(peers), HasSubstr("wanted a CUDA build of it"));
}

TEST(Loading, SaysThatBitsandbytesForCudaNeedsABuildWithCuda) {
  EXPECT_THAT(warning_of(load(TEST_BNB, record::DeviceKind::kCuda)),
              HasSubstr("this nf4bench was built without CUDA"));
}

TEST(Loading, NamesTheFunctionsThatBitsandbytesLacks) {
  const peer::Peers peers({{"mine", TEST_BNB_INCOMPLETE}},
                          {.kind = record::DeviceKind::kCuda, .tools = peer::CudaTools{}}, {});
  EXPECT_THAT(warning_of(peers),
              AllOf(HasSubstr("lacks cdequantize_blockwise_bf16_nf4"), Not(HasSubstr("fp16_nf4"))));
}

TEST(Loading, GoesOnWithTheOthers) {
  const peer::Peers peers({{"gone", "/nowhere/lib.so"}, {"mine", TEST_PEER_SCRIPTED}}, {}, {});
  EXPECT_THAT(peers.absent(), ElementsAre("gone"));
  EXPECT_THAT(peers.variants(), Not(IsEmpty()));
  EXPECT_TRUE(peers.is_of_absent_peer("gone"));
  EXPECT_TRUE(peers.is_of_absent_peer("gone_decode"));
  EXPECT_TRUE(peers.is_of_absent_peer("gone.fast"));
  EXPECT_TRUE(peers.is_of_absent_peer("go*"));
  EXPECT_FALSE(peers.is_of_absent_peer("*"));
  EXPECT_FALSE(peers.is_of_absent_peer("mine"));
  EXPECT_FALSE(peers.is_of_absent_peer("gonewest"));
}

TEST(Loading, RefusesTheNameOfAnotherVariant) {
  kernels::Variant built_in;
  built_in.name = "mine";
  const auto load = [&] { peer::Peers({{"mine", TEST_PEER_SCRIPTED}}, {}, {built_in}); };
  EXPECT_THAT(error_of(ErrorKind::kUsage, load), HasSubstr("\"mine\""));
}

TEST(Loading, KeepsBuiltInVariantsInFront) {
  kernels::Variant built_in;
  built_in.name = "first";
  const peer::Peers peers({{"mine", TEST_PEER_SCRIPTED}}, {}, {built_in});
  EXPECT_STREQ(peers.variants().front().name, "first");
}

struct BrokenTable {
  const char* rule;
  const char* said;
};

// The warning about the table in `path` that breaks `rule`.
std::string warning_of(const std::string& path, const char* rule) {
  setenv("NF4BENCH_TEST_PEER", rule, 1);
  const peer::Peers peers = load(path);
  unsetenv("NF4BENCH_TEST_PEER");
  return warning_of(peers);
}

class LoadingTables : public testing::TestWithParam<BrokenTable> {};

TEST_P(LoadingTables, NameTheRuleThatIsBroken) {
  EXPECT_THAT(warning_of(TEST_PEER_SCRIPTED, GetParam().rule), HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    OfPeers, LoadingTables,
    testing::Values(
        BrokenTable{"null", "returned NULL"}, BrokenTable{"abi", "ABI version 7, wanted 2 from"},
        BrokenTable{"stride", "variant_bytes 8"}, BrokenTable{"odd_stride", "variant_bytes"},
        BrokenTable{"huge_stride", "variant_bytes 1073741824"},
        BrokenTable{"count", "offers 0 variants"},
        BrokenTable{"many", "offers 2147483648 variants"}, BrokenTable{"no_variants", "at NULL"},
        BrokenTable{"name", "variant 1 of its table: its name \"a b\\n\""},
        BrokenTable{"endless_name", "is not 1 to 64 letters"},
        BrokenTable{"twice", "\"fine\" is taken"}, BrokenTable{"device", "its device is 9"},
        BrokenTable{"operation", "its operation is 4, wanted 0 (dequantize)"},
        BrokenTable{"flags", "its flags 0x80"}, BrokenTable{"launches", "its launches are -1"},
        BrokenTable{"launch", "its launch() is NULL"},
        BrokenTable{"cuda_only", "no variant of dequantize for the CPU device"}),
    [](const auto& each) { return std::string(each.param.rule); });

TEST(Loading, NamesTheOperationsThatAreKnown) {
  EXPECT_THAT(warning_of(TEST_PEER_SCRIPTED, "operation"),
              HasSubstr("wanted 0 (dequantize), 1 (matmul), 2 (experts) or 3 (backward)"));
}

TEST(Loading, RefusesSizesOfTheTableThatCannotBe) {
  EXPECT_THAT(warning_of(TEST_PEER_SCRIPTED, "table_bytes"),
              HasSubstr("has table_bytes 0, wanted sizeof(nf4bench_peer_table), which is 24 here"));
  EXPECT_THAT(warning_of(TEST_PEER_SCRIPTED, "huge_table"),
              HasSubstr("has table_bytes 1073741824"));
}

TEST(Loading, SaysThatALibraryIsOfALaterVersion) {
  EXPECT_THAT(warning_of(load(TEST_PEER_LATER)),
              HasSubstr("exports nf4bench_peer_v3, of a later version than the 2 that is known"));
}

TEST(Loading, TakesEntriesThatANewerHeaderMadeLarger) {
  setenv("NF4BENCH_TEST_PEER", "larger", 1);
  const peer::Peers peers = load(TEST_PEER_SCRIPTED);
  unsetenv("NF4BENCH_TEST_PEER");
  ASSERT_EQ(peers.variants().size(), 2u) << testing::PrintToString(peers.warnings());
  EXPECT_STREQ(peers.variants()[0].name, "mine.first");
  EXPECT_STREQ(peers.variants()[1].name, "mine.second");
}

}  // namespace
}  // namespace nf4bench
