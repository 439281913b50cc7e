// Peers of a CUDA device in processes of their own, on a runtime that is none: this program is
// those processes, too, and shares its "device memory" with them by the handles of CUDA.

#include "base/error.hpp"
#include "bench/runner.hpp"
#include "device/devices.hpp"
#include "device/shared_buffers.hpp"
#include "faults/fake_cuda_runtime.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "peer/peers.hpp"
#include "peer/process/peer_process.hpp"
#include "plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

using record::CacheMode;
using record::LaunchMode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kCallS = 2.0;

class CudaPeers : public testing::Test {
 protected:
  CudaPeers() {
    setenv(fake_cuda::kSetting, "timed", 1);
    fake_cuda::play({});
  }
  ~CudaPeers() override {
    unsetenv(fake_cuda::kSetting);
    unsetenv("NF4BENCH_TEST_PEER");
    EXPECT_EQ(fake_cuda::live_objects(), 0);
    EXPECT_EQ(fake_cuda::freed_while_open(), 0);
  }

  static std::unique_ptr<device::Device> open(bool shares_buffers = true) {
    device::DeviceOptions options;
    options.shares_buffers = shares_buffers;
    return device::open_cuda_device(0, options);
  }

  static peer::Peers load(device::Device& device, const std::string& script) {
    setenv("NF4BENCH_TEST_PEER", script.c_str(), 1);
    peer::ProcessLimits limits;
    limits.load_s = 60.0;
    limits.call_s = kCallS;
    return peer::load_peers({{"mine", TEST_PEER_SCRIPTED_CUDA}}, device, operation::dequantize(),
                            limits);
  }

  // Measures `names` of the built-in variants and of the peer, and returns their rows.
  static std::vector<record::Measurement> run(const std::string& script,
                                              const std::vector<std::string>& names,
                                              const std::vector<CacheMode>& caches,
                                              const std::vector<LaunchMode>& launches,
                                              const std::vector<std::int64_t>& shape = {16, 64}) {
    nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "t", .shape = shape});
    plan::TensorSource source;
    source.name = tensor.name;
    source.geometry.shape = tensor.shape;
    source.load = [&tensor] { return tensor; };
    record::RunOptions options;
    options.output_types = {nf4::OutputType::kFloat16};
    options.caches = caches;
    options.launches = launches;
    options.baseline = "bare";
    options.min_samples = 3;
    options.max_time_s = 0.0;
    std::vector<record::Measurement> rows;
    const bench::RunObserver observer{
        .on_measurement = [&](const record::Measurement& row) { rows.push_back(row); },
        .on_stream_ceiling = {},
        .on_progress = {}};
    const auto started = std::chrono::steady_clock::now();
    const bench::Clocks clocks = {.clock_s = [started] {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started;
      return passed.count();
    }};
    const std::atomic<bool> interrupted = false;
    const auto device = open();
    const peer::Peers peers = load(*device, script);
    EXPECT_THAT(peers.warnings(), IsEmpty());
    EXPECT_THAT(peers.notes(), IsEmpty());
    const operation::Operation& operation = operation::dequantize();
    bench::run_benchmark(
        {*device, operation, plan::plan_tensors({source}, plan::TensorChoice::kAll),
         plan::select_variants(peers.variants(), names), options, clocks},
        {}, observer, interrupted);
    return rows;
  }

  // Status and reason of each variant's only row.
  static std::map<std::string, std::string> verdicts(const std::vector<record::Measurement>& rows) {
    std::map<std::string, std::string> found;
    for (const record::Measurement& row : rows) {
      const bool is_timed = row.status == record::Status::kPassed;
      found[row.variant] = is_timed ? "passed" : row.reason;
    }
    return found;
  }
};

TEST_F(CudaPeers, WorkInProcessesOfTheirOwnInAllModesAndSoDoBuiltInVariants) {
  const auto device = open();
  {
    const peer::Peers peers = load(*device, "good");
    for (const kernels::Variant& variant : peers.variants()) {
      EXPECT_NE(device::sampler_of(variant), nullptr) << variant.name;
    }
    EXPECT_GT(peers.processor_seconds(), 0.0);
  }
  const auto rows = run("good", {"with_workspace", "with_prepare", "mine.scratch"},
                        {CacheMode::kHot, CacheMode::kCold},  // of more outputs, so of more copies
                        {LaunchMode::kGraph, LaunchMode::kStream, LaunchMode::kSpaced});
  EXPECT_EQ(rows.size(), 18u);
  for (const record::Measurement& row : rows) {
    EXPECT_EQ(row.status, record::Status::kPassed) << row.variant << ": " << row.reason;
  }
}

TEST_F(CudaPeers, ThatEndTheirProcessAreFailedRowsAndAllOthersHaveTimes) {
  auto found = verdicts(run("harmful",
                            {"bare", "mine.crashes", "mine.leaves", "mine.leaves_at_once",
                             "mine.abandons", "mine.hangs", "mine.strays", "mine.good"},
                            {CacheMode::kHot}, {LaunchMode::kGraph}, {100, 64}));
  EXPECT_THAT(found["mine.crashes"], HasSubstr("crashed: signal 11"));
  EXPECT_THAT(found["mine.leaves"], HasSubstr("ended its process with exit code 0"));
  EXPECT_THAT(found["mine.leaves_at_once"], HasSubstr("ended its process with exit code 7"));
  EXPECT_THAT(found["mine.abandons"], AllOf(HasSubstr("signal 6"), HasSubstr("cannot go on")));
  EXPECT_THAT(found["mine.hangs"], HasSubstr("did not return within 2 s"));
  EXPECT_THAT(found["mine.strays"], HasSubstr("cudaErrorIllegalAddress"));
  EXPECT_EQ(found["mine.good"], "passed");
  EXPECT_EQ(found["bare"], "passed");
}

TEST_F(CudaPeers, ThatWriteTheirInputsAreFailedRowsAndHarmNobody) {
  for (const CacheMode cache : {CacheMode::kCold, CacheMode::kHot}) {
    auto found = verdicts(run("harmful", {"bare", "mine.changes_inputs", "mine.good"}, {cache},
                              {LaunchMode::kGraph}));
    EXPECT_THAT(found["mine.changes_inputs"], HasSubstr("wrote into its inputs"));
    EXPECT_EQ(found["mine.good"], "passed");
    EXPECT_EQ(found["bare"], "passed");
  }
}

// What they write is there when the other process looks.
TEST_F(CudaPeers, ThatWriteOnAStreamOfTheirOwnAreFailedRowsThatSaySo) {
  for (const LaunchMode launch : {LaunchMode::kStream, LaunchMode::kGraph}) {
    auto found = verdicts(run("harmful", {"mine.lags"}, {CacheMode::kCold}, {launch}));
    EXPECT_THAT(found["mine.lags"], HasSubstr("are right only after the sample has ended"));
  }
}

TEST_F(CudaPeers, ThatDoLessWhenTheyAreTimedAreFailedRows) {
  auto found = verdicts(run("harmful", {"bare", "mine.tenth", "mine.tires"}, {CacheMode::kCold},
                            {LaunchMode::kGraph}));
  EXPECT_THAT(found["mine.tenth"], HasSubstr("are not written"));
  EXPECT_THAT(found["mine.tires"], HasSubstr("are not written"));
  EXPECT_EQ(found["bare"], "passed");
}

// Here all events stand still.
TEST_F(CudaPeers, WhoseEventsTellLessThanPassesAreImplausible) {
  setenv(fake_cuda::kSetting, "", 1);
  auto found = verdicts(run("good", {"mine"}, {CacheMode::kHot}, {LaunchMode::kGraph}, {256, 512}));
  EXPECT_THAT(found["mine"], HasSubstr("implausible: by the events of its process"));
}

TEST_F(CudaPeers, WhoseProcessCannotOpenTheBuffersSayWhatToDo) {
  setenv(fake_cuda::kSetting, "timed unopenable", 1);
  const auto device = open();
  const peer::Peers peers = load(*device, "good");
  EXPECT_THAT(peers.warnings(), ElementsAre(AllOf(HasSubstr("peer mine: "),
                                                  HasSubstr("cudaErrorInvalidResourceHandle"),
                                                  HasSubstr("--in-process"))));
  EXPECT_THAT(peers.absent(), ElementsAre("mine"));
  EXPECT_EQ(peers.variants().size(), 3u);
}

TEST_F(CudaPeers, OfADeviceThatSharesNothingWorkHereAndThatIsSaid) {
  setenv(fake_cuda::kSetting, "timed alone", 1);
  const auto device = open();
  EXPECT_EQ(device->shared_buffers(), nullptr);
  const peer::Peers peers = load(*device, "good");
  EXPECT_THAT(peers.notes(), ElementsAre(HasSubstr("where a fault of one ends the run")));
  for (const kernels::Variant& variant : peers.variants()) {
    EXPECT_FALSE(variant.launch_elsewhere) << variant.name;
  }
}

TEST_F(CudaPeers, WorkHereUnlessTheyAreToBeApart) {
  const auto device = open(false);
  EXPECT_EQ(device->shared_buffers(), nullptr);
  EXPECT_THAT(load(*device, "good").notes(), IsEmpty());
}

}  // namespace

// No kernels of ours for other libraries: they would bring the real runtime in.
std::optional<peer::CudaTools> peer::cuda_tools() {
  return std::nullopt;
}

}  // namespace nf4bench

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], nf4bench::peer::kServePeer) == 0) {
    return nf4bench::peer::serve_peer();
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
