// A whole run on the CUDA device, again and again: each time another call of the runtime fails.

#include "base/error.hpp"
#include "bench/runner.hpp"
#include "device/devices.hpp"
#include "doctor/fake_nvml.hpp"
#include "faults/fake_cuda_runtime.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/weight.hpp"
#include "plan/plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

using fake_cuda::Counted;
using fake_cuda::Script;

constexpr int kCells = 6;  // cold and hot; graph, stream and spaced

// How a run on the fake GPU ended.
struct Ending {
  std::optional<std::string> error;
  std::vector<record::Measurement> rows;
  int stream_ceilings = 0;

  bool has_failed_row() const {
    for (const record::Measurement& row : rows) {
      if (row.status == record::Status::kFailed) return true;
    }
    return false;
  }
  bool has_failed() const { return error || has_failed_row(); }
  bool mentions(const std::string& text) const {
    if (error && error->find(text) != std::string::npos) return true;
    for (const record::Measurement& row : rows) {
      if (row.reason.find(text) != std::string::npos) return true;
    }
    return false;
  }
};

record::RunOptions all_modes() {
  record::RunOptions options;
  options.output_types = {nf4::OutputType::kFloat16};
  options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  options.launches = {record::LaunchMode::kGraph, record::LaunchMode::kStream,
                      record::LaunchMode::kSpaced};
  options.baseline = "bare";
  options.min_samples = 3;
  options.max_time_s = 0.0;
  return options;
}

// Opens the device, measures its ceilings, verifies and times all variants in all modes.
Ending run_all(const Script& script) {
  static const nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "t", .shape = {16, 64}});
  fake_cuda::play(script);
  plan::TensorSource source;
  source.name = tensor.name;
  source.geometry.shape = tensor.shape;
  source.load = [] { return tensor; };
  Ending ending;
  double now_s = 0.0;
  const bench::RunObserver observer{
      .on_measurement = [&](const record::Measurement& row) { ending.rows.push_back(row); },
      .on_stream_ceiling = [&](const record::StreamCeiling&) { ++ending.stream_ceilings; },
      .on_progress = {}};
  const bench::Clocks clocks = {.clock_s = [&] { return now_s += 1.0; }};
  const std::atomic<bool> interrupted = false;
  try {
    const auto device = device::open_cuda_device(0, {});
    const record::Ceilings ceilings = device->measure_ceilings();
    const operation::Operation& operation = operation::dequantize();
    const auto planned = plan::plan_tensors({source}, plan::TensorChoice::kAll);
    const auto variants =
        plan::select_variants(operation.catalog(device->info().kind).variants, {});
    const record::RunOptions options = all_modes();
    bench::run_benchmark({*device, operation, planned, variants, options, clocks}, ceilings,
                         observer, interrupted);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice) << error.what();
    ending.error = error.what();
  }
  return ending;
}

// Repeats a run in which call number 1, 2, ... fails, until no call is left that could fail, and
// returns how many runs had a failure. Each run ends in an error or a failed row that names CUDA's
// error, or lacks the ceiling of the cell if it was a stream shape that failed, and leaves nothing
// behind.
int fail_each_call(Script script, const std::string& name) {
  std::set<std::string> calls;
  int with_rows = 0;
  int without_ceiling = 0;
  for (script.fail_at = 1;; ++script.fail_at) {
    const Ending ending = run_all(script);
    EXPECT_EQ(fake_cuda::live_objects(), 0) << fake_cuda::failed_call() << " " << script.fail_at;
    if (fake_cuda::failed_call().empty()) {
      EXPECT_FALSE(ending.has_failed());
      fmt::print(
          "{} failures of {} kinds of calls: {} ended in rows, {} cost a ceiling, the "
          "others ended the run\n",
          script.fail_at - 1, calls.size(), with_rows, without_ceiling);
      return static_cast<int>(script.fail_at - 1);
    }
    calls.insert(fake_cuda::failed_call());
    if (!ending.has_failed() && ending.stream_ceilings == kCells - 1) {
      ++without_ceiling;
      continue;
    }
    EXPECT_TRUE(ending.has_failed()) << fake_cuda::failed_call() << " " << script.fail_at;
    EXPECT_TRUE(ending.mentions(name) || ending.mentions("out of device memory"))
        << fake_cuda::failed_call() << " " << ending.error.value_or("");
    if (ending.has_failed_row()) ++with_rows;
    if (::testing::Test::HasFailure()) return 0;
  }
}

TEST(CudaFaults, WithoutAnyAllVariantsPassInAllModes) {
  const Ending ending = run_all({});
  EXPECT_EQ(ending.error.value_or(""), "");
  ASSERT_EQ(ending.rows.size(), 18u);
  EXPECT_EQ(ending.stream_ceilings, kCells);
  for (const record::Measurement& row : ending.rows) {
    EXPECT_EQ(row.status, record::Status::kPassed) << row.variant << row.reason;
  }
  EXPECT_EQ(fake_cuda::live_objects(), 0);
}

TEST(CudaFaults, AsksNoDriverOfThisMachine) {
  fake_cuda::play({});
  const auto device = device::open_cuda_device(0, {});
  EXPECT_EQ(device->info().driver, "580.159.04");  // of the NVML that stands in
  EXPECT_EQ(test::fake_gpu().started, 1);
}

// Called some ten times, it slows every later kernel of the process down.
TEST(CudaFaults, ARunNeverResetsPersistingLines) {
  run_all({});
  EXPECT_TRUE(fake_cuda::was_called("cudaGraphLaunch"));
  EXPECT_FALSE(fake_cuda::was_called("cudaCtxResetPersistingL2Cache"));
}

// One that waits for it sees the second call, and nothing else of the program.
TEST(CudaFaults, AProfilerIsToldOfOneCallThatWasMadeBefore) {
  run_all({});
  EXPECT_FALSE(fake_cuda::was_called("cudaProfilerStart"));
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "t", .shape = {16, 64}});
  fake_cuda::play({});
  const auto device = device::open_cuda_device(0, {});
  const auto workload =
      device->upload(operation::dequantize_work(tensor, nf4::OutputType::kFloat16),
                     device::UploadPurpose::kTimeHot);
  const kernels::Variant& bare =
      operation::dequantize().catalog(device->info().kind).variants.front();
  std::vector<bool> seen;
  kernels::Variant watched = bare;
  watched.name = "watched";
  watched.launch = [&](const kernels::Job& job, const kernels::Launch& launch) {
    seen.push_back(fake_cuda::was_called("cudaProfilerStart") &&
                   !fake_cuda::was_called("cudaProfilerStop"));
    bare.launch(job, launch);
  };
  workload->profile(watched);
  EXPECT_EQ(seen, (std::vector<bool>{false, true}));
  EXPECT_TRUE(fake_cuda::was_called("cudaProfilerStop"));
}

// Or its time would depend on whose kernels ran before.
TEST(CudaFaults, AColdReplayBeginsWithACacheThatOthersWrote) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "t", .shape = {16, 64}});
  const auto caches_filled = [&](record::CacheMode cache, record::LaunchMode launch) {
    fake_cuda::play({});
    const auto device = device::open_cuda_device(0, {});
    const auto workload =
        device->upload(operation::dequantize_work(tensor, nf4::OutputType::kFloat16),
                       device::UploadPurpose::kTime);
    fake_cuda::play({});
    workload->sample(operation::dequantize().catalog(device->info().kind).variants.front(),
                     {cache, launch, 2});
    return fake_cuda::most_filled() / static_cast<std::size_t>(device->info().l2_bytes);
  };
  EXPECT_EQ(caches_filled(record::CacheMode::kCold, record::LaunchMode::kGraph), 2u);
  EXPECT_EQ(caches_filled(record::CacheMode::kCold, record::LaunchMode::kSpaced), 2u);
  EXPECT_EQ(caches_filled(record::CacheMode::kHot, record::LaunchMode::kGraph), 0u);
  EXPECT_EQ(caches_filled(record::CacheMode::kCold, record::LaunchMode::kStream), 0u);
}

TEST(CudaFaults, AVariantThatSetsL2AsideFailsAndTheLimitIsSetBack) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "t", .shape = {16, 64}});
  const std::vector<std::byte> expected =
      nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16);
  fake_cuda::play({});
  const auto device = device::open_cuda_device(0, {});
  const auto workload = device->upload(
      operation::dequantize_work(tensor, nf4::OutputType::kFloat16), device::UploadPurpose::kTime);
  const kernels::Variant& bare =
      operation::dequantize().catalog(device->info().kind).variants.front();
  kernels::Variant greedy = bare;
  greedy.name = "greedy";
  greedy.launch = [&](const kernels::Job& job, const kernels::Launch& launch) {
    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 2048);
    bare.launch(job, launch);
  };
  try {
    workload->verify(greedy, expected);
    FAIL() << "nobody noticed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("how much of L2 is set aside"), std::string::npos)
        << error.what();
  }
  std::size_t bytes = 0;
  cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize);
  EXPECT_EQ(bytes, fake_cuda::kL2SetAside);
  EXPECT_TRUE(workload->verify(bare, expected).passed());
}

// What is verified is a plain call, what is timed the replay of a graph.
TEST(CudaFaults, AKernelThatDoesLessInGraphsIsFailedThere) {
  const Ending ending = run_all({.is_lazy_in_graphs = true});
  ASSERT_EQ(ending.rows.size(), 18u);
  for (const record::Measurement& row : ending.rows) {
    if (row.cell.launch == record::LaunchMode::kStream) {
      EXPECT_EQ(row.status, record::Status::kPassed) << row.reason;
      continue;
    }
    EXPECT_EQ(row.status, record::Status::kFailed) << row.variant;
    EXPECT_NE(row.reason.find("512 of 1024 elements are not written"), std::string::npos)
        << row.reason;
  }
}

TEST(CudaFaults, OutOfMemoryAtEachAllocationIsAClearEnd) {
  EXPECT_GT(fail_each_call({.counted = Counted::kAllocations, .error = cudaErrorMemoryAllocation},
                           "cudaErrorMemoryAllocation"),
            10);
}

TEST(CudaFaults, AFailureOfEachCallIsAClearEnd) {
  EXPECT_GT(fail_each_call({.error = cudaErrorUnknown}, "cudaErrorUnknown"), 300);
}

TEST(CudaFaults, AFaultAtEachCallThatBreaksTheDeviceIsAClearEnd) {
  EXPECT_GT(fail_each_call({.error = cudaErrorIllegalAddress, .is_sticky = true},
                           "cudaErrorIllegalAddress"),
            300);
}

// Samples and verifies all variants; returns the messages of what failed.
std::string ask_for_all(const device::Device& device, device::Workload& workload,
                        const std::vector<std::byte>& expected) {
  std::string problems;
  for (const kernels::Variant& variant :
       operation::dequantize().catalog(device.info().kind).variants) {
    try {
      for (const record::LaunchMode mode :
           {record::LaunchMode::kGraph, record::LaunchMode::kStream, record::LaunchMode::kSpaced}) {
        const double seconds =
            workload.sample(variant, {record::CacheMode::kCold, mode, 2}).seconds;
        EXPECT_EQ(seconds, mode == record::LaunchMode::kSpaced ? 0.25e-3 : 0.5e-3);
      }
      workload.repeat(variant, {record::CacheMode::kCold, record::LaunchMode::kGraph, 2}, 3);
      EXPECT_TRUE(workload.verify(variant, expected).passed());
    } catch (const Error& error) {
      problems += error.what();
    }
  }
  return problems;
}

// What a failed call left behind must not be taken for what it should have made.
TEST(CudaFaults, AWorkloadCanBeAskedAgainAfterAnyFailure) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "t", .shape = {16, 64}});
  const std::vector<std::byte> expected =
      nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16);
  for (std::int64_t k = 1; k < 1000; ++k) {
    fake_cuda::play({});
    const auto device = device::open_cuda_device(0, {});
    const auto workload =
        device->upload(operation::dequantize_work(tensor, nf4::OutputType::kFloat16),
                       device::UploadPurpose::kTime);
    fake_cuda::play({.fail_at = k});
    ask_for_all(*device, *workload, expected);
    if (fake_cuda::failed_call().empty()) return;
    EXPECT_EQ(ask_for_all(*device, *workload, expected), "") << fake_cuda::failed_call();
  }
  FAIL() << "never came to its end";
}

std::string problem_of_devices(const Script& script) {
  fake_cuda::play(script);
  std::string problem;
  EXPECT_TRUE(device::cuda_devices(&problem).empty());
  EXPECT_THROW(device::open_device("cuda", {}), Error);
  EXPECT_EQ(device::open_device("auto", {})->info().id, "cpu");
  return problem;
}

TEST(CudaFaults, WithoutADriverTheCpuServesAndTheReasonIsGiven) {
  const std::string problem = problem_of_devices(
      {.devices = 0, .no_device = cudaErrorInsufficientDriver, .driver_version = 0});
  EXPECT_NE(problem.find("there is no NVIDIA driver here"), std::string::npos) << problem;
}

TEST(CudaFaults, WithAnOldDriverBothVersionsAreNamed) {
  const std::string problem = problem_of_devices(
      {.devices = 0, .no_device = cudaErrorInsufficientDriver, .driver_version = 12020});
  EXPECT_NE(problem.find("it supports CUDA 12.2, and this program was built with 13.0"),
            std::string::npos)
      << problem;
}

TEST(CudaFaults, WithADriverAndNoDeviceThatIsSaid) {
  const std::string problem = problem_of_devices({.devices = 0, .no_device = cudaErrorNoDevice});
  EXPECT_NE(problem.find("cudaErrorNoDevice"), std::string::npos) << problem;
}

}  // namespace
}  // namespace nf4bench
