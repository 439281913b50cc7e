// The largest checkpoints that there are, as sparse files. Each test prints what it measured.

#include "faults/short_run.hpp"
#include "faults/synthetic_checkpoint.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMegabyte = 1'000'000;

// A sanitizer, or a build without optimization, is slower and larger than what is promised.
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kIsReleaseBuild = true;
#else
constexpr bool kIsReleaseBuild = false;
#endif

struct Timed {
  Outcome outcome;
  double seconds = 0.0;
};

Timed timed_run(const std::vector<std::string>& arguments) {
  const auto started = std::chrono::steady_clock::now();
  Timed timed{nf4bench(arguments)};
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started;
  timed.seconds = passed.count();
  return timed;
}

void print(const std::string& what, const Timed& timed) {
  fmt::print("{}: {:.2f} s, {:.2f} s of CPU time, {} MB at most\n", what, timed.seconds,
             timed.outcome.cpu_seconds, timed.outcome.peak_bytes / kMegabyte);
}

// 48 layers x 128 experts x 3 projections x 6 entries: a real model has so many entries, this one
// so many weights.
constexpr int kWeights = 110'592;

// Seconds that the JSON library takes on this machine at this moment to read the header of as many
// weights and do nothing with it.
double yardstick_s() {
  static const std::string header = [] {
    std::string text = "{";
    for (int i = 0; i < 6 * kWeights; ++i) {
      text += fmt::format(
          "{}\"model.layers.{}.mlp.experts.{}.down_proj.weight.nested_absmax\":{{\"dtype\":\"F32\","
          "\"shape\":[1],\"data_offsets\":[{},{}]}}",
          i == 0 ? "" : ",", i / 128, i % 128, i, i + 1);
    }
    return text + "}";
  }();
  const std::clock_t started = std::clock();
  EXPECT_TRUE(nlohmann::json::accept(header));
  return static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
}

struct Promise {
  std::size_t lines = 0;
  double seconds = 2.0;  // where the yardstick takes kYardstickS or less
};

// Two cores of a shared virtual machine need 0.4 to 0.8 s. A slower or busier machine may take
// longer in proportion.
constexpr double kYardstickS = 0.45;

void expect_inspected(const std::vector<std::string>& arguments, const std::string& what,
                      const Promise& promise) {
  constexpr int kRuns = 5;  // the fastest counts: disturbances only slow a program down
  Timed timed;
  double cost_s = 0.0;
  double limit_s = 0.0;
  for (int i = 0; i < kRuns && cost_s >= limit_s; ++i) {
    const double yard_s = yardstick_s();
    timed = timed_run(arguments);
    cost_s = std::min(timed.seconds, timed.outcome.cpu_seconds);
    limit_s = promise.seconds * std::max(1.0, yard_s / kYardstickS);
    fmt::print("{}: the JSON library alone takes {:.2f} s of CPU time\n", what, yard_s);
  }
  print(what, timed);
  ASSERT_EQ(timed.outcome.exit_code, 0) << timed.outcome.err;
  EXPECT_EQ(static_cast<std::size_t>(
                std::count(timed.outcome.out.begin(), timed.outcome.out.end(), '\n')),
            promise.lines);
  if (!kIsReleaseBuild) return;
  EXPECT_LT(cost_s, limit_s);
  EXPECT_LT(timed.outcome.peak_bytes, 500 * kMegabyte);
}

TEST(LargeCheckpoint, Of110592WeightsIsInspectedInTwoSeconds) {
  const ScratchFolder scratch;
  write_sparse_checkpoint(scratch.path(""), {.weights = kWeights});
  const std::string file = scratch.path("model.safetensors");
  expect_inspected({"inspect", file}, "110,592 weights, summary", {.lines = 2});
  expect_inspected({"inspect", file, "--all"}, "110,592 weights, table", {.lines = kWeights + 1});
  expect_inspected({"inspect", file, "--json"}, "110,592 weights, JSON",
                   {.lines = kWeights * 14 + 6});
}

TEST(LargeCheckpoint, Of110592WeightsIn64ShardsIsInspectedInThreeSeconds) {
  const ScratchFolder scratch;
  write_sparse_checkpoint(scratch.path(""), {.weights = kWeights, .shards = 64});
  expect_inspected({"inspect", scratch.path(""), "--all"}, "110,592 weights in 64 shards",
                   {.lines = kWeights + 1, .seconds = 3.0});
}

// The largest header that is read, full of the shortest keys: 20 million of them.
TEST(HostileHeader, OfManyKeysTakesNoMoreThanFourTimesItsSize) {
  constexpr std::size_t kHeaderBytes = 99'999'999;
  const ScratchFolder scratch;
  const std::string file = scratch.path("keys.safetensors");
  {
    std::string header = R"({"x":{"":0)";
    while (header.size() + 7 <= kHeaderBytes) header += R"(,"":0)";
    header += "}}";
    header.resize(kHeaderBytes, ' ');
    std::ofstream out(file, std::ios::binary);
    for (int i = 0; i < 8; ++i) out.put(static_cast<char>(kHeaderBytes >> (8 * i)));
    out << header;
  }
  const Timed timed = timed_run({"inspect", file});
  print("20 million equal keys", timed);
  EXPECT_EQ(timed.outcome.exit_code, 3);
  EXPECT_NE(timed.outcome.err.find("occurs twice in one object"), std::string::npos)
      << timed.outcome.err;
  if (!kIsReleaseBuild) return;
  EXPECT_LT(timed.outcome.peak_bytes, static_cast<std::int64_t>(4 * kHeaderBytes));
}

// One file holds less than two million tensors: its header ends at 100 MB. Three hold more than an
// input may.
TEST(LargeCheckpoint, OfMoreThanFourMillionTensorsIsRefused) {
  const ScratchFolder scratch;
  std::string header = "{";
  for (int i = 0; i < 1'400'000; ++i) {
    header += fmt::format("{}\"{:x}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                          i == 0 ? "" : ",", i);
  }
  header += "}";
  const std::string first = scratch.path("0.safetensors");
  const std::uint64_t length = header.size();
  std::ofstream(first).write(reinterpret_cast<const char*>(&length), sizeof(length)) << header;
  for (const char* name : {"1.safetensors", "2.safetensors"}) {
    std::filesystem::create_hard_link(first, scratch.path(name));
  }
  const Timed timed = timed_run({"inspect", scratch.path("")});
  print("4.2 million tensors", timed);
  EXPECT_EQ(timed.outcome.exit_code, 3);
  EXPECT_THAT(timed.outcome.err, HasSubstr("tensors: found more than 4000000, wanted at most"));
  if (!kIsReleaseBuild) return;
  EXPECT_LT(timed.outcome.peak_bytes, 600 * kMegabyte);
}

// Runs a command and says how many bytes it asked the system for.
Outcome with_bytes_read(const std::string& command, std::int64_t& bytes) {
  const ScratchFolder scratch;
  // A shell's own /proc/self/io counts its children once it has waited for them.
  const Outcome outcome =
      shell(command + "; status=$?; cat /proc/$$/io > '" + scratch.path("io") + "'; exit $status");
  const std::string io = read_file(scratch.path("io"));
  bytes = std::stoll(io.substr(io.find("rchar: ") + 7));
  return outcome;
}

constexpr std::int64_t kGigabyte = 1'000'000'000;

// 700 weights of 8192 x 14336: 41 GB packed, 42 GB with the scales.
TEST(LargeCheckpoint, Of42GigabytesIsPlannedWithoutReadingItsWeights) {
  const ScratchFolder scratch;
  const std::int64_t written = write_sparse_checkpoint(
      scratch.path(""), {.weights = 700, .rows = 8192, .columns = 14336, .shards = 9});
  ASSERT_LT(written, 5 * kMegabyte);
  std::int64_t read = 0;
  const Outcome outcome = with_bytes_read("\"$NF4BENCH\" inspect '" + scratch.path("") + "'", read);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  fmt::print("42 GB in 9 shards: {:.1f} MB read of {:.1f} MB that are no hole\n",
             static_cast<double>(read) / kMegabyte, static_cast<double>(written) / kMegabyte);
  // Headers, states and maps, and what the process itself needs to start.
  EXPECT_LT(read, written + 5 * kMegabyte);
  EXPECT_LT(outcome.peak_bytes, 200 * kMegabyte);
}

// One layer of 4 MB out of 40 GB: the run reads that and no more.
TEST(LargeCheckpoint, IsReadWhereARunNeedsItAndNowhereElse) {
  const ScratchFolder scratch;
  const std::int64_t written = write_sparse_checkpoint(
      scratch.path(""), {.weights = 9700, .rows = 2048, .columns = 4096, .shards = 9});
  std::int64_t read = 0;
  const Outcome outcome = with_bytes_read(
      "\"$NF4BENCH\" run '" + scratch.path("") +
          "' --tensor 'layers.7.mlp.experts.77.up_proj.weight$' --device cpu --no-ceilings "
          "--max-time 0.01 --min-samples 3 --cache hot --variant simd --baseline none",
      read);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2048x4096"));
  fmt::print("one weight of 41 GB: {:.1f} MB read, {:.1f} MB are no hole\n",
             static_cast<double>(read) / kMegabyte, static_cast<double>(written) / kMegabyte);
  constexpr std::int64_t kOneWeight = 2048 * 4096 / 2 + 2048 * 4096 / 64;
  EXPECT_LT(read, written + kOneWeight + 5 * kMegabyte);
  EXPECT_LT(read, 41 * kGigabyte / 100);
}

}  // namespace
}  // namespace nf4bench::test
