// Peers through the program itself.

#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <sched.h>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kPeer = "mine=" TEST_PEER_SCRIPTED;

Outcome run_peers(const std::string& script, const std::vector<std::string>& more) {
  Command command = nf4bench_command(
      {"run", "--device", "cpu", "--no-ceilings", "--min-samples", "3", "--quiet", "--json", "-"});
  const std::vector<std::pair<std::string, std::string>> defaults = {
      {"--cache", "hot"}, {"--shape", "100x77"}, {"--max-time", "0.02"}};
  for (const auto& [option, value] : defaults) {
    if (std::ranges::find(more, option) != more.end()) continue;
    command.arguments.insert(command.arguments.end(), {option, value});
  }
  command.arguments.insert(command.arguments.end(), more.begin(), more.end());
  command.environment.push_back("NF4BENCH_TEST_PEER=" + script);
  return Process(command).wait();
}

// Status and reason of each variant's only row.
std::map<std::string, std::pair<std::string, std::string>> rows_of(const json& report) {
  std::map<std::string, std::pair<std::string, std::string>> rows;
  for (const json& row : report.at("measurements")) {
    const json& reason = row.at("reason");
    rows[row.at("variant")] = {row.at("status"), reason.is_null() ? "" : reason.get<std::string>()};
  }
  return rows;
}

TEST(PeerRun, AGoodPeerIsMeasuredAndCanBeTheBaseline) {
  const json report = silent_json_of(
      run_peers("good", {"--peer", kPeer, "--variant", "mine*,lut", "--baseline", "mine"}));
  auto rows = rows_of(report);
  EXPECT_EQ(rows.at("mine").first, "passed");
  EXPECT_EQ(rows.at("mine.scratch").first, "passed");
  EXPECT_EQ(rows.at("lut").first, "passed");
  EXPECT_EQ(rows.at("mine.plain"),
            (std::pair<std::string, std::string>{"skipped", "plain tensors only"}));
  EXPECT_EQ(report.at("settings").at("baseline"), "mine");
  for (const json& row : report.at("measurements")) {
    if (row.at("status") == "passed") {
      EXPECT_EQ(row.at("speedup").at("baseline"), "mine");
    }
  }
}

TEST(PeerRun, EveryKindOfBadPeerIsAFailedRowAndTheRestRunsOn) {
  const Outcome outcome = run_peers("bad", {"--peer", kPeer, "--variant", "mine.*,simd,lut"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  auto rows = rows_of(json::parse(outcome.out));
  EXPECT_EQ(rows.size(), 13u);  // 10 bad ones, 2 good ones, the baseline
  const std::map<std::string, std::string> reasons = {
      {"mine.error", "returned error 7"},
      {"mine.nothing", "7700 of 7700 elements differ"},
      {"mine.half", "3850 of 7700 elements differ from the reference, the first at 3850"},
      {"mine.wrong", "1 of 7700 elements differ from the reference, the first at 7699"},
      {"mine.past", "wrote past the end of its output"},
      {"mine.before", "wrote before the start of its output"},
      {"mine.workspace_past", "wrote past the end of its workspace"},
      {"mine.workspace_before", "wrote before the start of its workspace"},
      {"mine.throws", "threw an exception"},
      {"mine.upward", "changes the floating-point mode of the thread that calls it"}};
  for (const auto& [name, reason] : reasons) {
    EXPECT_EQ(rows.at(name).first, "failed") << name;
    EXPECT_THAT(rows.at(name).second, HasSubstr(reason)) << name;
  }
  EXPECT_EQ(rows.at("simd").first, "passed");
  EXPECT_EQ(rows.at("lut").first, "passed");
}

TEST(PeerRun, AQuietRunSaysWhyOnStderrAndWhereElse) {
  EXPECT_THAT(run_peers("bad", {"--peer", kPeer, "--variant", "mine.error,mine.half"}).err,
              AllOf(HasSubstr("nf4bench: mine.error failed on 100x77: returned error 7\n"),
                    HasSubstr("2 of 3 measurements failed; their reasons are in the report\n")));
  const std::vector<std::string> words = {"run",        "--device", "cpu",      "--quiet",
                                          "--shape",    "64x64",    "--peer",   kPeer,
                                          "--baseline", "none",     "--variant"};
  const auto quiet = [&](const std::string& script, const std::string& variant) {
    Command command = nf4bench_command(words);
    command.arguments.push_back(variant);
    command.environment.push_back("NF4BENCH_TEST_PEER=" + script);
    return Process(command).wait();
  };
  EXPECT_THAT(quiet("bad", "mine.error").err, HasSubstr("1 of 1 measurements failed\n"));
  const Outcome skipped = quiet("good", "mine.plain");
  EXPECT_EQ(skipped.exit_code, 6);
  EXPECT_EQ(skipped.err,
            "nf4bench: mine.plain skipped on 64x64: plain tensors only\n"
            "nf4bench: none of 1 measurements passed\n");
}

TEST(PeerRun, ProductsOfAPeerAreMeasuredAndThoseThatLieFail) {
  const Outcome outcome = run_peers(
      "products", {"--peer", kPeer, "--operation", "matmul", "--tokens", "3", "--shape", "4x32",
                   "--variant", "mine,mine.short,mine.halves,mine.decodes,mine.asks"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  auto rows = rows_of(json::parse(outcome.out));
  EXPECT_EQ(rows.at("mine").first, "passed") << rows.at("mine").second;
  for (const std::string name : {"mine.short", "mine.decodes", "mine.halves"}) {
    EXPECT_EQ(rows.at(name).first, "failed") << name;
  }
  // Under AddressSanitizer no guards stand behind outputs.
  EXPECT_THAT(rows.at("mine.decodes").second,
              AnyOf(HasSubstr("wrote past the end of its output"),
                    HasSubstr("with one input at a time, from 0 on: 9 of 12 outputs")));
  EXPECT_THAT(rows.at("mine.halves").second, HasSubstr("in a timed sample"));
  EXPECT_EQ(rows.at("mine.asks"),
            (std::pair<std::string, std::string>{"skipped", "operation 1, 3 x 4 x 32, nested 1"}));
}

TEST(PeerRun, AnAbsentPeerMakesTheExitCodeSaySo) {
  const Outcome outcome =
      run_peers("good", {"--peer", "gone=/nowhere/lib.so", "--peer", kPeer, "--variant", "mine"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("peer gone could not be used, see the warnings"));
  EXPECT_EQ(rows_of(json::parse(outcome.out)).at("mine").first, "passed");
}

TEST(PeerRun, AnAbsentPeerThatMayBeAbsentIsAWarningOnStderrAndInTheReport) {
  const Outcome outcome =
      run_peers("good", {"--peer-optional", "--peer", "gone=/nowhere/lib.so", "--peer", kPeer,
                         "--variant", "gone,gone_decode,mine,lut", "--baseline", "gone"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("warning: peer gone"), HasSubstr("No such file")));
  const json report = json::parse(outcome.out);
  EXPECT_EQ(rows_of(report).size(), 2u);
  EXPECT_THAT(report.at("warnings").get<std::vector<std::string>>(),
              Contains(HasSubstr("peer gone: cannot open /nowhere/lib.so")));
  EXPECT_TRUE(report.at("settings").at("baseline").is_null());
}

TEST(PeerRun, NothingButAbsentPeersIsBadInput) {
  EXPECT_THAT(run_peers("good", {"--peer", "gone=/nowhere/lib.so", "--variant", "gone"}),
              AllOf(Ends(3), Prints(IsEmpty())));
}

TEST(PeerRun, AMisspeltPeerArgumentIsAUsageError) {
  EXPECT_EQ(run_peers("good", {"--peer", "lib.so"}).exit_code, 2);
  EXPECT_EQ(run_peers("good", {"--peer", "mine=lib.so"}).exit_code, 2);
  EXPECT_EQ(run_peers("good", {"--peer", "lut=" TEST_PEER_SCRIPTED}).exit_code, 2);
}

TEST(PeerRun, DequantizeDecodesWithAPeer) {
  const ScratchFolder scratch;
  const auto decode = [&](const std::string& variant, const std::string& to) {
    return nf4bench({"dequantize", sample("odd_shapes.safetensors"), "-o", scratch.path(to),
                     "--device", "cpu", "--quiet", "--peer", kPeer, "--variant", variant});
  };
  EXPECT_EQ(decode("mine", "peer.safetensors").exit_code, 0);
  EXPECT_EQ(decode("lut", "own.safetensors").exit_code, 0);
  EXPECT_EQ(read_file(scratch.path("peer.safetensors")),
            read_file(scratch.path("own.safetensors")));
  EXPECT_FALSE(read_file(scratch.path("own.safetensors")).empty());
}

// The reference would round up, too.
TEST(PeerRun, TheFloatingPointModeOfAConstructorIsSetBack) {
  const ScratchFolder scratch;
  const auto decode = [&](const std::string& script, const std::string& to) {
    Command command = nf4bench_command({"dequantize", sample("ranges.safetensors"), "-o",
                                        scratch.path(to), "--device", "cpu", "--quiet",
                                        "--in-process", "--peer", kPeer, "--variant", "simd"});
    command.environment.push_back("NF4BENCH_TEST_PEER=" + script);
    const Outcome outcome = Process(command).wait();
    EXPECT_EQ(outcome.exit_code, 0);
    return outcome.err;
  };
  EXPECT_THAT(decode("good", "right.safetensors"), Not(HasSubstr("warning")));
  EXPECT_THAT(decode("good_upward", "same.safetensors"),
              HasSubstr("warning: peer mine: changes the floating-point mode when it is loaded"));
  EXPECT_EQ(read_file(scratch.path("same.safetensors")),
            read_file(scratch.path("right.safetensors")));
  const json report = json_of(
      run_peers("good_upward", {"--in-process", "--peer", kPeer, "--variant", "mine,simd"}));
  EXPECT_EQ(rows_of(report).at("mine").first, "passed");
  EXPECT_THAT(report.at("warnings").get<std::vector<std::string>>(),
              Contains(HasSubstr("floating-point mode")));
}

// The threads of others that spin beside a variant make it slow, whatever the peer itself takes.
// How much they get of processors that other programs use, too, is up to the system.
TEST(PeerRun, ThreadsOfAPeerThatSpinDisturbItsRivalsAndAreNamed) {
  const json report =
      json_of(run_peers("idle_spins", {"--in-process", "--peer", kPeer, "--variant",
                                       "mine*,simd,lut", "--max-time", "0.5", "--precision", "0"}));
  bool is_named = false;
  for (const json& row : report.at("measurements")) {
    const json& load = row.at("load");
    const bool is_of_peer = row.at("variant").get<std::string>().starts_with("mine");
    EXPECT_TRUE(is_of_peer || load.at("disturbed")) << row.at("variant") << load;
    EXPECT_TRUE(!is_of_peer || load.at("idle_threads") == 0) << row.at("variant") << load;
    is_named = is_named || load.at("idle_threads_of") == "mine";
  }
  EXPECT_TRUE(is_named) << report.at("measurements");
  EXPECT_THAT(report.at("warnings").dump(),
              HasSubstr("hreads of peer mine that nobody had called"));
}

// They stand still while others are timed.
TEST(PeerRun, ThreadsOfAPeerThatSpinInItsOwnProcessDisturbNobody) {
  const json found =
      json_of(run_peers("idle_spins", {"--peer", kPeer, "--variant", "mine*,simd,lut", "--max-time",
                                       "0.1", "--precision", "0"}));
  for (const json& row : found.at("measurements")) {
    EXPECT_EQ(row.at("load").at("idle_threads"), 0) << row.at("variant");
  }
}

TEST(PeerRun, APeerThatHangsIsAFailedRowAndTheRunGoesOn) {
  const Outcome outcome = run_peers(
      "harmful", {"--peer", kPeer, "--call-timeout", "1", "--variant", "mine.hangs,mine.good,lut"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  auto rows = rows_of(json::parse(outcome.out));
  EXPECT_EQ(rows.at("mine.hangs"),
            (std::pair<std::string, std::string>{"failed", "did not return within 1 s"}));
  EXPECT_EQ(rows.at("mine.good").first, "passed") << rows.at("mine.good").second;
  EXPECT_EQ(rows.at("lut").first, "passed");
}

// As two shared libraries that need another of one name, or two Python files that do.
TEST(PeerRun, PeersShareNothing) {
  const Outcome outcome =
      run_peers("company_saves", {"--peer", kPeer, "--peer", "twin=" TEST_PEER_SCRIPTED,
                                  "--variant", "mine.companion,mine.other,twin.other"});
  auto rows = rows_of(json::parse(outcome.out));
  EXPECT_EQ(rows.at("mine.other").first, "passed") << rows.at("mine.other").second;
  EXPECT_THAT(rows.at("twin.other").second, HasSubstr("crashed: signal 11"));
}

TEST(PeerRun, AThreadThatAPeerBindsIsSetFree) {
  const json report =
      json_of(run_peers("idle_bound", {"--in-process", "--peer", kPeer, "--variant", "mine*,lut"}));
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  for (const json& row : report.at("measurements")) {
    ASSERT_TRUE(row.at("load").is_object()) << row;
    EXPECT_EQ(row.at("load").at("processors"), CPU_COUNT(&allowed)) << row.at("variant");
  }
  EXPECT_THAT(report.at("warnings").get<std::vector<std::string>>(),
              Contains(HasSubstr("peer mine: binds the thread that loads it")));
}

TEST(PeerRun, DequantizeWritesNothingThatABadPeerMade) {
  const ScratchFolder scratch;
  Command command = nf4bench_command({"dequantize", sample("odd_shapes.safetensors"), "-o",
                                      scratch.path("out.safetensors"), "--device", "cpu", "--peer",
                                      kPeer, "--variant", "mine.wrong"});
  command.environment.emplace_back("NF4BENCH_TEST_PEER=bad");
  EXPECT_EQ(Process(command).wait().exit_code, 4);
  EXPECT_THAT(read_file(scratch.path("out.safetensors")), IsEmpty());
}

// Name and operation of each variant of the peer in `path` that is listed for the CPU.
std::vector<std::string> listed(const std::string& script, const std::string& path) {
  Command command =
      nf4bench_command({"list", "variants", "--json", "--device", "cpu", "--peer", "mine=" + path});
  command.environment.push_back("NF4BENCH_TEST_PEER=" + script);
  const Outcome outcome = Process(command).wait();
  EXPECT_THAT(outcome.err, IsEmpty());
  std::vector<std::string> found;
  for (const json& row : json::parse(outcome.out)) {
    const std::string name = row.at("name");
    if (name.starts_with("mine")) found.push_back(name + " " + std::string(row.at("operation")));
  }
  return found;
}

TEST(PeerRun, ListShowsThePeersVariantsOfEachOperation) {
  EXPECT_THAT(listed("products", TEST_PEER_SCRIPTED),
              ElementsAre("mine dequantize", "mine matmul", "mine.short matmul",
                          "mine.halves matmul", "mine.decodes matmul", "mine.asks matmul"));
  EXPECT_THAT(listed("good", TEST_PEER_SCRIPTED),
              ElementsAre("mine dequantize", "mine.scratch dequantize", "mine.plain dequantize"));
}

TEST(PeerRun, ListShowsWhatAPeerOffersAndWhyAnotherDoesNot) {
  const Outcome outcome =
      nf4bench({"list", "variants", "--json", "--peer", kPeer, "--peer", "gone=/nowhere/lib.so"});
  EXPECT_EQ(outcome.exit_code, 0);
  std::vector<std::string> names;
  for (const json& row : json::parse(outcome.out)) {
    names.push_back(row.at("device").get<std::string>() + " " + row.at("name").get<std::string>());
  }
  EXPECT_THAT(names,
              AllOf(Contains("cpu mine"), Contains("cpu mine.scratch"), Contains("cpu simd")));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("warning: peer gone"), Not(HasSubstr("peer mine"))));
  EXPECT_EQ(nf4bench({"list", "presets", "--peer", kPeer}).exit_code, 2);
}

}  // namespace
}  // namespace nf4bench::test
