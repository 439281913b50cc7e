#include "cpu/stream_memory.hpp"
#include "device/cpu/cpu_facts.hpp"
#include "device/devices.hpp"
#include "device/memory.hpp"
#include "error_of.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/weight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>

namespace nf4bench {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr device::SampleSpec kCold = {record::CacheMode::kCold, record::LaunchMode::kStream, 1};
constexpr device::SampleSpec kHot = {record::CacheMode::kHot, record::LaunchMode::kStream, 1};

TEST(CpuFacts, AreOfARealMachine) {
  EXPECT_FALSE(device::cpu_name().empty());
  EXPECT_EQ(device::cpu_name().find('\n'), std::string::npos);
  EXPECT_GE(device::last_level_cache_bytes(), 256 << 10);
  EXPECT_LE(device::last_level_cache_bytes(), std::int64_t{64} << 30);
  EXPECT_GT(device::physical_memory_bytes(), 64 << 20);
  EXPECT_GT(device::available_memory_bytes(), 0);
  EXPECT_LE(device::available_memory_bytes(), device::physical_memory_bytes());
}

// One workload for all tests, because its buffer sets are five times as large as the caches: more
// than a gigabyte on a server.
class CpuTiming : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    device_ = device::open_cpu_device({});
    tensor_ = nf4::make_synthetic(
        {.shape = {4096, 2048}, .distribution = nf4::Distribution::kRandomCodes});
    available_ = device::available_memory_bytes();
    workload_ = device_->upload(operation::dequantize_work(tensor_, nf4::OutputType::kBfloat16),
                                device::UploadPurpose::kTime);
  }
  static void TearDownTestSuite() {
    workload_.reset();
    device_.reset();
    tensor_ = {};
  }

  // That a call reads and writes.
  static std::int64_t moved_bytes() { return nf4::bytes_read(tensor_) + 2 * tensor_.elements; }

  static inline std::unique_ptr<device::Device> device_;
  static inline std::unique_ptr<device::Workload> workload_;
  static inline nf4::Nf4Tensor tensor_;
  static inline std::int64_t available_ = 0;  // bytes of memory before the upload
};

// What the probes below saw of their calls.
struct Seen {
  std::atomic<int> calls = 0;
  std::vector<const void*> outputs;
  std::vector<const void*> inputs;
  int threads = 0;
  std::string config;
  bool was_poisoned = true;
};

// A variant that records its calls in `seen` and then runs `work`.
kernels::Variant probe(Seen& seen,
                       void (*work)(Seen&, const kernels::Job&, const kernels::Launch&)) {
  kernels::Variant variant;
  variant.name = "probe";
  variant.unsupported = [](const kernels::Problem&, const kernels::DeviceFacts&) -> const char* {
    return nullptr;
  };
  variant.workspace_bytes = [](const kernels::Problem&, const kernels::Launch&) {
    return std::size_t{0};
  };
  variant.launch = [&seen, work](const kernels::Job& job, const kernels::Launch& launch) {
    work(seen, job, launch);
  };
  return variant;
}

void record(Seen& seen, const kernels::Job& job, const kernels::Launch& launch) {
  ++seen.calls;
  seen.outputs.push_back(job.output);
  seen.inputs.push_back(job.packed);
  seen.threads = omp_get_max_threads();
  seen.config = launch.config == nullptr ? "" : launch.config;
  const auto* bytes = static_cast<const unsigned char*>(job.output);
  for (std::int64_t i = 0; i < job.elements * 2; ++i)
    seen.was_poisoned &= bytes[i] == device::kPoisonByte;
}

const kernels::Variant& simd() {
  const kernels::Catalog& catalog = kernels::cpu::dequantize();
  return *std::ranges::find(catalog.variants, std::string("simd"), &kernels::Variant::name);
}

std::unique_ptr<device::Workload> upload(
    device::Device& device, const nf4::Nf4Tensor& tensor, nf4::OutputType type,
    device::UploadPurpose purpose = device::UploadPurpose::kVerify) {
  return device.upload(operation::dequantize_work(tensor, type), purpose);
}

// A tensor on the device, and what it decodes to.
struct Uploaded {
  explicit Uploaded(nf4::OutputType type)
      : workload(upload(*device, tensor, type)),
        expected(nf4::reference_dequantize(tensor, type)) {}

  nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {100, 100}});
  std::unique_ptr<device::Device> device = device::open_cpu_device({});
  std::unique_ptr<device::Workload> workload;
  std::vector<std::byte> expected;
};

TEST(CpuDevice, DescribesItself) {
  const auto device = device::open_cpu_device({.config = "", .threads = 3});
  const record::DeviceInfo& info = device->info();
  EXPECT_EQ(info.id, "cpu");
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.simd.empty());
  EXPECT_EQ(info.compute_capability, 0);
  EXPECT_EQ(info.multiprocessors, 3);
  EXPECT_GT(info.l2_bytes, 0);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_FALSE(device->state().unavailable.empty());
  ASSERT_EQ(device->launch_modes().size(), 1u);
  EXPECT_EQ(device->launch_modes()[0], record::LaunchMode::kStream);
}

TEST(CpuDevice, RefusesNegativeThreads) {
  EXPECT_THROW(device::open_cpu_device({.config = "", .threads = -1}), Error);
}

TEST(CpuDevice, EveryVariantPassesInEveryType) {
  const auto device = device::open_cpu_device({});
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
    const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {333, 515}, .absmax_kind = kind});
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      const auto workload = upload(*device, tensor, type);
      const std::vector<std::byte> expected = nf4::reference_dequantize(tensor, type);
      for (const kernels::Variant& variant :
           operation::dequantize().catalog(device->info().kind).variants) {
        EXPECT_EQ(workload->unsupported(variant), "");
        const record::Verification found = workload->verify(variant, expected);
        EXPECT_TRUE(found.passed()) << variant.name << " " << to_string(type);
        EXPECT_EQ(found.compared, tensor.elements);
        EXPECT_EQ(workload->output_of(variant), expected) << variant.name;
      }
    }
  }
}

// Decodes like `simd` and then spoils element 1000.
void spoil(Seen&, const kernels::Job& job, const kernels::Launch& launch) {
  simd().launch(job, launch);
  static_cast<std::uint16_t*>(job.output)[1000] ^= 1;
}

TEST(CpuDevice, AWrongVariantIsFound) {
  const Uploaded it(nf4::OutputType::kBfloat16);
  Seen seen;
  const record::Verification found = it.workload->verify(probe(seen, spoil), it.expected);
  EXPECT_EQ(found.mismatches, 1);
  EXPECT_EQ(found.first_mismatch, 1000);
  EXPECT_EQ(found.max_ulp, 1u);
}

TEST(CpuDevice, AVariantThatWritesNothingIsFoundEvenAfterARightOne) {
  const Uploaded it(nf4::OutputType::kFloat16);
  EXPECT_TRUE(it.workload->verify(simd(), it.expected).passed());
  Seen seen;
  EXPECT_EQ(it.workload->verify(probe(seen, record), it.expected).mismatches, 10'000);
  EXPECT_TRUE(seen.was_poisoned);
}

TEST(CpuDevice, APrefixIsEnoughToVerify) {
  const Uploaded it(nf4::OutputType::kBfloat16);
  const auto half = std::span(it.expected).first(999 * 2);
  EXPECT_EQ(it.workload->verify(simd(), half).compared, 999);
  Seen seen;
  EXPECT_EQ(it.workload->verify(probe(seen, spoil), half).mismatches,
            0);  // element 1000 lies behind
}

TEST(CpuDevice, ReportsAVariantsReasonForNotRunning) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {8, 8}});
  const auto workload = upload(*device::open_cpu_device({}), tensor, nf4::OutputType::kFloat16);
  Seen seen;
  kernels::Variant variant = probe(seen, record);
  variant.unsupported = [](const kernels::Problem& problem, const kernels::DeviceFacts&) {
    return problem.output_type == nf4::OutputType::kFloat16 ? "no half precision" : nullptr;
  };
  EXPECT_EQ(workload->unsupported(variant), "no half precision");
}

TEST_F(CpuTiming, WritingPastTheOutputIsAnErrorWhileTiming) {
  Seen seen;
  const kernels::Variant variant =
      probe(seen, [](Seen&, const kernels::Job& job, const kernels::Launch&) {
        static_cast<std::uint16_t*>(job.output)[job.elements] = 0;
      });
  EXPECT_THROW(workload_->output_of(variant), Error);
}

TEST_F(CpuTiming, ColdSamplesRotateThroughAllSets) {
  const int sets = workload_->buffer_sets();
  EXPECT_GE(sets * moved_bytes(), std::min(5 * device_->info().l2_bytes, available_ / 4));
  Seen seen;
  const kernels::Variant variant =
      probe(seen, [](Seen& mine, const kernels::Job& job, const kernels::Launch&) {
        mine.outputs.push_back(job.output);
        mine.inputs.push_back(job.packed);
      });
  for (int i = 0; i < 2 * sets; ++i) workload_->sample(variant, kCold);
  const std::set<const void*> outputs(seen.outputs.begin(), seen.outputs.end());
  EXPECT_EQ(outputs.size(), static_cast<std::size_t>(sets));
  EXPECT_EQ(std::set<const void*>(seen.inputs.begin(), seen.inputs.end()).size(), outputs.size());
  // The same set comes back only after all others.
  for (std::size_t i = 0; i + 1 < outputs.size(); ++i) {
    EXPECT_NE(seen.outputs[i], seen.outputs[i + 1]);
    EXPECT_EQ(seen.outputs[i], seen.outputs[i + outputs.size()]);
  }
}

TEST_F(CpuTiming, HotSamplesStayOnOneSet) {
  Seen seen;
  const kernels::Variant variant =
      probe(seen, [](Seen& mine, const kernels::Job& job, const kernels::Launch&) {
        mine.outputs.push_back(job.output);
      });
  for (int i = 0; i < 5; ++i) workload_->sample(variant, kHot);
  EXPECT_EQ(std::set<const void*>(seen.outputs.begin(), seen.outputs.end()).size(), 1u);
}

TEST_F(CpuTiming, AllSetsHoldTheSameInputs) {
  Seen seen;
  kernels::Variant variant =
      probe(seen, [](Seen& mine, const kernels::Job& job, const kernels::Launch&) {
        ++mine.calls;
        for (const void* before : mine.inputs) {
          EXPECT_EQ(std::memcmp(before, job.packed, static_cast<std::size_t>(job.elements / 2)), 0);
        }
        mine.inputs = {job.packed};
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(job.packed) % 256, 0u);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(job.absmax_codes) % 256, 0u);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(job.output) % 256, 0u);
      });
  for (int i = 0; i < workload_->buffer_sets(); ++i) workload_->sample(variant, kCold);
  EXPECT_GE(seen.calls, workload_->buffer_sets());
}

// A variant that only sleeps is timed at what it sleeps, divided by the calls.
TEST_F(CpuTiming, TimesWhatAVariantTakes) {
  Seen seen;
  const kernels::Variant variant =
      probe(seen, [](Seen& mine, const kernels::Job&, const kernels::Launch&) {
        ++mine.calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      });
  const device::Sample sample =
      workload_->sample(variant, {record::CacheMode::kHot, record::LaunchMode::kStream, 10});
  EXPECT_EQ(seen.calls, 11);  // one to warm up
  EXPECT_GE(sample.seconds, 0.005);
  EXPECT_LT(sample.seconds, 0.05);
  EXPECT_FALSE(sample.sm_clock_hz);
}

TEST_F(CpuTiming, SamplesOfAllVariantsArePlausible) {
  const auto expected = nf4::reference_dequantize(tensor_, nf4::OutputType::kBfloat16);
  const auto moved = static_cast<double>(moved_bytes());
  for (const kernels::Variant& variant :
       operation::dequantize().catalog(device_->info().kind).variants) {
    for (const device::SampleSpec& spec : {kCold, kHot}) {
      const double seconds = workload_->sample(variant, spec).seconds;
      EXPECT_GT(seconds, 0.0) << variant.name;
      EXPECT_LT(moved / seconds, 1e13) << variant.name;  // 10 TB/s: no CPU's memory or cache
    }
    EXPECT_TRUE(workload_->verify(variant, expected).passed()) << variant.name;
  }
}

TEST(CpuDevice, HasNoGraphs) {
  const auto workload = upload(*device::open_cpu_device({}),
                               nf4::make_synthetic({.shape = {64, 64}}), nf4::OutputType::kFloat32);
  Seen seen;
  EXPECT_THROW(workload->sample(probe(seen, record),
                                {record::CacheMode::kHot, record::LaunchMode::kGraph, 1}),
               Error);
  EXPECT_EQ(seen.calls, 0);
}

TEST(CpuDevice, HandsThreadsAndConfigurationOn) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {64}});
  for (const int threads : {1, 2, 5}) {
    const auto device = device::open_cpu_device({.config = "wide", .threads = threads});
    const auto workload = upload(*device, tensor, nf4::OutputType::kFloat16);
    Seen seen;
    workload->output_of(probe(seen, record));
    EXPECT_EQ(seen.threads, threads);
    EXPECT_EQ(seen.config, "wide");
  }
}

TEST(CpuDevice, SaysHowMuchMemoryIsMissing) {
  // A tensor that claims more elements than it has. Upload must refuse it before it reads them.
  nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "huge", .shape = {64}});
  tensor.shape = {std::int64_t{1} << 45};
  tensor.elements = tensor.shape.front();
  const auto upload_128_tib = [&] {
    upload(*device::open_cpu_device({}), tensor, nf4::OutputType::kFloat32);
  };
  EXPECT_THAT(error_of(ErrorKind::kDevice, upload_128_tib),
              AllOf(HasSubstr("huge"), HasSubstr("available")));
}

TEST(CpuDevice, MeasuresItsCeilings) {
  const record::Ceilings ceilings = device::open_cpu_device({})->measure_ceilings();
  EXPECT_GT(ceilings.copy_bytes, 0);
  EXPECT_EQ(ceilings.copy_bytes, 2 * ceilings.write_bytes);
  for (const double rate : {ceilings.copy_bytes_per_s, ceilings.write_bytes_per_s}) {
    EXPECT_GT(rate, 1e8);
    EXPECT_LT(rate, 1e13);
  }
}

// A set of a tensor of one element takes thousands of times the memory of its content.
TEST(CpuBufferSets, AreAsManyAsTheRotationAsksFor) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {2048, 1024}});
  const std::int64_t set_bytes = nf4::bytes_read(tensor) + 2 * tensor.elements;
  for (const int caches : {1, 3}) {
    const auto device =
        device::open_cpu_device({.config = "", .threads = 0, .caches_rotated = caches});
    const auto workload =
        upload(*device, tensor, nf4::OutputType::kFloat16, device::UploadPurpose::kTime);
    const std::int64_t behind_one = (workload->buffer_sets() - 1) * set_bytes;
    EXPECT_GE(behind_one, caches * device->info().l2_bytes - set_bytes / 8);
    EXPECT_LT(behind_one, caches * device->info().l2_bytes + 2 * set_bytes);
  }
}

// What variants prepare for each set is to fit into the memory, too.
TEST(CpuBufferSets, AreFewerWhereMuchIsPreparedForEach) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {2048, 1024}});
  const auto device = device::open_cpu_device({});
  device::Work work = operation::dequantize_work(tensor, nf4::OutputType::kFloat16);
  const int without = device->upload(work, device::UploadPurpose::kTime)->buffer_sets();
  EXPECT_EQ(device->fitting_sets(without - 1, 4 << 20), without - 1);
  work.prepared_bytes = device::available_memory_bytes();
  EXPECT_EQ(device->upload(work, device::UploadPurpose::kTime)->buffer_sets(), 1);
  EXPECT_EQ(device->fitting_sets(without - 1, work.prepared_bytes), 0);
}

// A set of a tensor of one element takes thousands of times the memory of its content, and the
// caches of a server hold hundreds of thousands of small sets.
TEST(CpuBufferSets, OfTinyTensorsTakeLittleMemory) {
  const auto device = device::open_cpu_device({});
  for (const std::int64_t extent : {1, 64}) {
    const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {extent, extent}});
    const std::int64_t before = device::available_memory_bytes();
    const auto workload =
        upload(*device, tensor, nf4::OutputType::kFloat16, device::UploadPurpose::kTime);
    EXPECT_GT(workload->buffer_sets(), 500);
    if (kernels::cpu::can_evict()) {
      EXPECT_LT(workload->buffer_sets(), 20'000);
    }
    EXPECT_LT(before - device::available_memory_bytes(), std::int64_t{1} << 30);
  }
}

// Reads a byte of each of the lines of its job's input and output, powers of two of them. Each
// address waits for the byte before, in an order that no prefetcher guesses: so a slow build
// cannot hide what the memory takes.
void read_lines(Seen& seen, const kernels::Job& job, const kernels::Launch&) {
  static const volatile std::uint64_t kNothing = 0;
  const std::uint64_t nothing = kNothing;
  const auto visit = [&](const void* memory, std::int64_t bytes) {
    const auto lines = static_cast<std::uint64_t>(bytes / 64);
    std::uint64_t line = 0;
    for (std::uint64_t i = 0; i < lines; ++i) {
      const unsigned char byte = static_cast<const volatile unsigned char*>(memory)[64 * line];
      seen.threads |= byte;
      line = (5 * line + 3 + nothing * byte) % lines;
    }
  };
  visit(job.packed, job.elements / 2);
  visit(job.output, 2 * job.elements);
}

// The sets of such tensors fit into the caches. Ten samples, because others may be at work here.
TEST(CpuBufferSets, OfTinyTensorsAreColdAllTheSame) {
  if (!kernels::cpu::can_evict()) GTEST_SKIP() << "no way to evict here";
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {128, 128}});
  const auto workload = upload(*device::open_cpu_device({}), tensor, nf4::OutputType::kFloat16,
                               device::UploadPurpose::kTime);
  Seen seen;
  const kernels::Variant variant = probe(seen, read_lines);
  double cold_s = 1.0;
  double hot_s = 1.0;
  for (int i = 0; i < 10; ++i) {
    const int sets = workload->buffer_sets();
    cold_s = std::min(
        cold_s,
        workload->sample(variant, {record::CacheMode::kCold, record::LaunchMode::kStream, sets})
            .seconds);
    hot_s = std::min(
        hot_s,
        workload->sample(variant, {record::CacheMode::kHot, record::LaunchMode::kStream, sets})
            .seconds);
  }
  EXPECT_GT(cold_s, 2.0 * hot_s);
}

}  // namespace
}  // namespace nf4bench
