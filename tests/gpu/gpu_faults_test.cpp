// Faults of a real GPU, each in a process of its own: a kernel that traps, strays or never ends, a
// GPU without memory to spare, a GPU that two runs want.

#include "device/devices.hpp"
#include "faults/short_run.hpp"
#include "operation/dequantize.hpp"
#include "operation/weight.hpp"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

// Where peers work.
enum class Place { kHere, kApart };

class GpuFaults : public testing::Test {
 protected:
  void SetUp() override {
    std::string problem;
    if (!device::cuda_devices(&problem).empty()) return;
    if (std::getenv("NF4BENCH_REQUIRE_GPU") != nullptr) FAIL() << problem;
    GTEST_SKIP() << problem;
  }

  // A run of a built-in variant and a deadly one; the first of its shapes is spared.
  Outcome run_deadly(const std::string& variant, Place place = Place::kHere) {
    Command command = nf4bench_command(
        short_run(path(), {"--device", "cuda:0", "--peer", "mine=" TEST_PEER_DEADLY, "--variant",
                           "lut_shared,mine." + variant, "--shape", "64x64", "--shape", "256x256",
                           "--shape", "512x512", "--call-timeout", "5"}));
    if (place == Place::kHere) command.arguments.emplace_back("--in-process");
    return Process(command).wait();
  }

  // In a process of its own the peer harms nobody.
  void expect_harmless(const std::string& variant, const std::string& cause) {
    const Outcome outcome = run_deadly(variant, Place::kApart);
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_EQ(report_at(path()).at("complete"), true);
    EXPECT_THAT(row("t1", "mine." + variant).second, HasSubstr(cause));
    for (const char* const tensor : {"t0", "t1", "t2"}) {
      EXPECT_EQ(row(tensor, "lut_shared").first, "passed") << tensor;
    }
    expect_usable();
  }

  // Status and reason of the only row for the tensor `id` and `variant`.
  std::pair<std::string, std::string> row(const std::string& id, const std::string& variant) {
    const json report = report_at(path());
    for (const json& each : report.at("measurements")) {
      if (each.at("tensor") != id || each.at("variant") != variant) continue;
      const json& reason = each.at("reason");
      return {each.at("status"), reason.is_null() ? "" : reason.get<std::string>()};
    }
    return {"absent", ""};
  }

  // The device was lost at the second shape: the first one's rows survive, the culprit's says why.
  void expect_lost(const Outcome& outcome, const std::string& variant, const std::string& cause) {
    EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("mine." + variant), HasSubstr(cause)));
    EXPECT_EQ(report_at(path()).at("complete"), false);
    EXPECT_EQ(row("t0", "lut_shared").first, "passed");
    EXPECT_EQ(row("t1", "mine." + variant).first, "failed");
    EXPECT_THAT(row("t1", "mine." + variant).second, HasSubstr(cause));
    EXPECT_EQ(row("t1", "lut_shared").first, "skipped");
    EXPECT_EQ(row("t2", "lut_shared").first, "absent");
    EXPECT_THAT(outcome.out, HasSubstr("lut_shared"));  // the table
    expect_usable();
  }

  // The next process finds the GPU as if nothing had happened.
  static void expect_usable() {
    const ScratchFolder scratch;
    const Outcome outcome =
        nf4bench(short_run(scratch.path("after.json"), {"--device", "cuda:0", "--variant",
                                                        "lut_shared", "--shape", "256x256"}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  std::string path() const { return scratch_.path("report.json"); }

 private:
  ScratchFolder scratch_;
};

TEST_F(GpuFaults, AKernelThatTrapsIsAFailedRowAndTheEndOfTheRun) {
  expect_lost(run_deadly("traps"), "traps", "cudaErrorLaunchFailure");
}

TEST_F(GpuFaults, AKernelThatStraysIsAFailedRowAndTheEndOfTheRun) {
  expect_lost(run_deadly("strays"), "strays", "cudaErrorIllegalAddress");
}

TEST_F(GpuFaults, AMisalignedAccessIsAFailedRowAndTheEndOfTheRun) {
  expect_lost(run_deadly("misaligned"), "misaligned", "cudaErrorMisalignedAddress");
}

TEST_F(GpuFaults, AKernelThatNeverEndsIsGivenUp) {
  const auto started = std::chrono::steady_clock::now();
  const Outcome outcome = run_deadly("endless");
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(60));
  expect_lost(outcome, "endless", "did not return within 5 s");
}

TEST_F(GpuFaults, InAProcessOfItsOwnADeadlyKernelIsAFailedRowAndAllOthersAreMeasured) {
  expect_harmless("traps", "cudaErrorLaunchFailure");
  expect_harmless("strays", "cudaErrorIllegalAddress");
  expect_harmless("misaligned", "cudaErrorMisalignedAddress");
  expect_harmless("endless", "did not return within 5 s");
  expect_harmless("too_large", "");
}

// Not a figure to be published: that there is no large mistake in what is timed there.
TEST_F(GpuFaults, ABuiltInVariantTakesAsLongInAProcessOfItsOwn) {
  const auto median = [this](Place place, const std::string& cache, const std::string& launch) {
    Command command = nf4bench_command(
        short_run(path(), {"--device", "cuda:0", "--peer", "mine=" TEST_PEER_DEADLY, "--variant",
                           "lut_shared", "--shape", "8192x8192", "--dtype", "bfloat16", "--cache",
                           cache, "--launch", launch, "--max-time", "0.5"}));
    if (place == Place::kHere) command.arguments.emplace_back("--in-process");
    const Outcome outcome = Process(command).wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return report_at(path()).at("measurements").at(0).at("time_s").at("median").get<double>();
  };
  for (const std::string cache : {"cold", "hot"}) {
    for (const std::string launch : {"graph", "stream", "spaced"}) {
      const double here = median(Place::kHere, cache, launch);
      const double apart = median(Place::kApart, cache, launch);
      std::printf("%s %s: %.2f us here, %.2f us apart, ratio %.4f\n", cache.c_str(), launch.c_str(),
                  1e6 * here, 1e6 * apart, apart / here);
      EXPECT_NEAR(apart / here, 1.0, 0.05) << cache << launch;
    }
  }
}

TEST_F(GpuFaults, ALaunchThatIsRefusedIsAFailedRowAndTheRunGoesOn) {
  const Outcome outcome = run_deadly("too_large");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_EQ(report_at(path()).at("complete"), true);
  EXPECT_EQ(row("t1", "mine.too_large").first, "failed");
  EXPECT_EQ(row("t2", "lut_shared").first, "passed");
}

TEST_F(GpuFaults, AGpuWithoutMemoryToSpareIsSaidToHaveNone) {
  // Takes all but a GiB away: a context takes half of that.
  std::vector<void*> taken;
  std::size_t free = 0;
  std::size_t total = 0;
  constexpr std::size_t kSpared = std::size_t{1} << 30;
  for (std::size_t piece = std::size_t{32} << 30; piece >= kSpared / 4; piece /= 2) {
    void* memory = nullptr;
    while (cudaMemGetInfo(&free, &total) == cudaSuccess && free > kSpared + piece &&
           cudaMalloc(&memory, piece) == cudaSuccess) {
      taken.push_back(memory);
    }
  }
  // 32768x32768 as float32: 4.8 GB.
  const Outcome outcome = nf4bench(
      short_run(path(), {"--device", "cuda:0", "--variant", "lut_shared", "--dtype", "float32",
                         "--shape", "64x64", "--shape", "32768x32768", "--verify", "sampled"}));
  for (void* const memory : taken) cudaFree(memory);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("out of device memory"), HasSubstr("MiB free")));
  EXPECT_EQ(row("t0", "lut_shared").first, "passed");
  expect_usable();
}

TEST_F(GpuFaults, TwoRunsOnOneGpuAreWarned) {
  const ScratchFolder locks;
  Command endless = nf4bench_command(
      short_run(path(), {"--device", "cuda:0", "--variant", "lut_shared", "--shape", "4096x4096",
                         "--max-time", "3600", "--precision", "0", "--min-samples", "1000000"}));
  endless.environment.push_back("NF4BENCH_LOCKS=" + locks.path(""));
  Process first(endless);
  for (int i = 0; i < 4000 && !std::filesystem::exists(path()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  Command second = nf4bench_command(short_run(
      "-", {"--device", "cuda:0", "--variant", "lut_shared", "--shape", "256x256", "--quiet"}));
  second.environment.push_back("NF4BENCH_LOCKS=" + locks.path(""));
  const Outcome outcome = Process(second).wait();
  EXPECT_THAT(outcome.err, HasSubstr("another nf4bench run uses cuda:0 already"));
  EXPECT_THAT(json::parse(outcome.out).at("warnings").get<std::vector<std::string>>(),
              Contains(HasSubstr("uses cuda:0 already")));
  first.send(SIGINT);
  EXPECT_EQ(first.wait().exit_code, 130);
  bool has_lock_of_gpu = false;
  for (const auto& each : std::filesystem::directory_iterator(locks.path(""))) {
    has_lock_of_gpu |= each.path().filename().string().starts_with("nf4bench-GPU-");
  }
  EXPECT_TRUE(has_lock_of_gpu);
}

// Needs no GPU, only a build with CUDA.
TEST(HiddenGpu, IsSaidNotToBeThere) {
  Command command = nf4bench_command(
      short_run("-", {"--device", "cuda", "--variant", "lut_shared", "--shape", "64x64"}));
  command.environment.emplace_back("CUDA_VISIBLE_DEVICES=");
  const Outcome outcome = Process(command).wait();
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.err, StartsWith("nf4bench: error: device \"cuda\" is not there: "));
}

}  // namespace
}  // namespace nf4bench::test
