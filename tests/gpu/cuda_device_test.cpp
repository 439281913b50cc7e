#include "base/error.hpp"
#include "gpu_fixture.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/judge.hpp"
#include "operation/weight.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace nf4bench {
namespace {

class CudaDeviceTest : public GpuTest {
 protected:
  // A variant that copies `bytes`, owned by the caller, to `offset` bytes past the output's start.
  struct Forged {
    std::vector<std::byte> bytes;
    std::ptrdiff_t offset = 0;
  };

  static kernels::Variant forging(const Forged& forged) {
    kernels::Variant variant;
    variant.name = "forged";
    variant.launch = [&forged](const kernels::Job& job, const kernels::Launch& launch) {
      cudaMemcpyAsync(static_cast<std::byte*>(job.output) + forged.offset, forged.bytes.data(),
                      forged.bytes.size(), cudaMemcpyHostToDevice, launch.stream);
    };
    return variant;
  }

  static void expect_same_comparison(nf4::OutputType type, const std::vector<std::byte>& expected,
                                     const std::vector<std::byte>& actual,
                                     device::Workload& workload) {
    const Forged forged{actual};
    const record::Verification host = operation::compare_outputs(type, expected, actual);
    const record::Verification device = workload.verify(forging(forged), expected);
    EXPECT_EQ(device.compared, host.compared);
    EXPECT_EQ(device.mismatches, host.mismatches);
    EXPECT_EQ(device.first_mismatch, host.first_mismatch);
    EXPECT_EQ(device.max_ulp, host.max_ulp);
  }
};

TEST_F(CudaDeviceTest, ComparesAsTheHostDoes) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {256, 256}});
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    // Every 16-bit pattern against its neighbours, or 65,536 spread 32-bit patterns.
    const std::size_t size = nf4::size_in_bytes(type);
    std::vector<std::byte> expected(65536 * size);
    for (std::uint32_t i = 0; i < 65536; ++i) {
      const std::uint32_t bits = size == 2 ? i : i * 65537u;
      std::memcpy(expected.data() + i * size, &bits, size);
    }
    const auto workload =
        device_->upload(operation::dequantize_work(tensor, type), device::UploadPurpose::kVerify);
    for (const int shift : {0, 1, 7, 32768}) {
      std::vector<std::byte> actual(expected.size());
      for (std::size_t i = 0; i < 65536; ++i) {
        std::memcpy(actual.data() + i * size,
                    expected.data() + (i + static_cast<std::size_t>(shift)) % 65536 * size, size);
      }
      expect_same_comparison(type, expected, actual, *workload);
    }
  }
}

TEST_F(CudaDeviceTest, SeesAnOutputThatWasNotWritten) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {64, 64}});
  const auto expected = nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16);
  const auto workload =
      device_->upload(operation::dequantize_work(tensor, nf4::OutputType::kFloat16),
                      device::UploadPurpose::kVerify);
  const Forged all_but_last{{expected.begin(), expected.end() - 2}};
  const record::Verification comparison = workload->verify(forging(all_but_last), expected);
  EXPECT_EQ(comparison.mismatches, 1);
  EXPECT_EQ(comparison.first_mismatch, 64 * 64 - 1);
}

TEST_F(CudaDeviceTest, NoticesWritesOutsideTheOutput) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {64, 64}});
  const auto expected = nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16);
  const auto workload = device_->upload(
      operation::dequantize_work(tensor, nf4::OutputType::kFloat16), device::UploadPurpose::kTime);
  const auto bytes = static_cast<std::ptrdiff_t>(expected.size());
  for (const auto offset : {std::ptrdiff_t{-1}, bytes}) {
    const Forged stray{{std::byte{0}}, offset};
    EXPECT_THROW(workload->verify(forging(stray), expected), Error) << offset;
  }
}

TEST_F(CudaDeviceTest, TakesPlausibleSamplesInEveryMode) {
  const nf4::Nf4Tensor tensor =
      nf4::make_synthetic({.shape = {4096, 4096}, .distribution = nf4::Distribution::kRandomCodes});
  const auto workload = device_->upload(
      operation::dequantize_work(tensor, nf4::OutputType::kBfloat16), device::UploadPurpose::kTime);
  EXPECT_GT(static_cast<double>(workload->buffer_sets()) *
                static_cast<double>(nf4::bytes_read(tensor) + 2 * tensor.elements),
            5.0 * static_cast<double>(device_->info().l2_bytes));
  for (const kernels::Variant& variant :
       operation::dequantize().catalog(device_->info().kind).variants) {
    for (const record::CacheMode cache : {record::CacheMode::kCold, record::CacheMode::kHot}) {
      for (const record::LaunchMode launch : device_->launch_modes()) {
        const device::Sample sample = workload->sample(variant, {cache, launch, 8});
        EXPECT_GT(sample.seconds, 1e-6) << variant.name;
        EXPECT_LT(sample.seconds, 1e-1) << variant.name;
      }
    }
  }
}

// A variant that launches nothing adds nothing, so that what is left is not the spacer's own time.
TEST_F(CudaDeviceTest, TakesOffWhatStandsBetweenSpacedCalls) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {512, 512}});
  const auto workload = device_->upload(
      operation::dequantize_work(tensor, nf4::OutputType::kFloat16), device::UploadPurpose::kTime);
  kernels::Variant none;
  none.name = "none";
  none.launch = [](const kernels::Job&, const kernels::Launch&) {};
  kernels::Variant twice = operation::dequantize().catalog(device_->info().kind).variants.front();
  const kernels::Variant once = twice;
  twice.name = "twice";
  twice.launch = [once](const kernels::Job& job, const kernels::Launch& launch) {
    once.launch(job, launch);
    once.launch(job, launch);
  };
  const auto median = [&](const kernels::Variant& variant) {
    std::vector<double> samples;
    for (int i = 0; i < 15; ++i) {
      samples.push_back(
          workload->sample(variant, {record::CacheMode::kCold, record::LaunchMode::kSpaced, 512})
              .seconds);
    }
    std::nth_element(samples.begin(), samples.begin() + 7, samples.end());
    return samples[7];
  };
  EXPECT_NEAR(median(none), 0.0, 0.1e-6);
  const double alone = median(once);
  EXPECT_GT(alone, 1e-6);
  EXPECT_NEAR(median(twice) / alone, 2.0, 0.2);
}

// A rotation as large as L2, so that few launches come round to each set twice.
TEST_F(CudaDeviceTest, FindsWhatEveryVariantLeavesInTimedSamplesRight) {
  const auto device = device::open_cuda_device(0, {.config = "", .caches_rotated = 1});
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {1024, 1031}});
  const nf4::Nf4Tensor sibling = operation::negated(tensor);
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    const std::vector<std::byte> own = nf4::reference_dequantize(tensor, type);
    const std::vector<std::byte> other = nf4::reference_dequantize(sibling, type);
    const auto workload =
        device->upload(operation::make_work(operation::dequantize(), {tensor, &sibling},
                                            operation::problem_of(tensor, type)),
                       device::UploadPurpose::kTime);
    for (const kernels::Variant& variant :
         operation::dequantize().catalog(device->info().kind).variants) {
      for (const record::CacheMode cache : {record::CacheMode::kCold, record::CacheMode::kHot}) {
        for (const record::LaunchMode launch : device->launch_modes()) {
          const device::SampleSpec spec = {cache, launch, 2 * workload->buffer_sets() + 1};
          EXPECT_FALSE(workload->judged_sample(variant, spec, {own, other}).fault) << variant.name;
          EXPECT_FALSE(workload->check(variant, spec, {own, other})) << variant.name;
        }
      }
    }
  }
}

TEST_F(CudaDeviceTest, SaysHowMuchMemoryIsMissing) {
  nf4::Nf4Tensor tensor;
  tensor.name = "huge";
  tensor.elements = std::int64_t{1} << 40;
  tensor.shape = {tensor.elements};
  try {
    device_->upload(operation::dequantize_work(tensor, nf4::OutputType::kFloat32),
                    device::UploadPurpose::kVerify);
    FAIL() << "4 TiB fitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_NE(std::string(error.what()).find("MiB wanted"), std::string::npos) << error.what();
  }
}

TEST_F(CudaDeviceTest, MeasuresItsCeilings) {
  const record::Ceilings ceilings = device_->measure_ceilings();
  EXPECT_GT(ceilings.copy_bytes_per_s, 1e10);
  EXPECT_GT(ceilings.write_bytes_per_s, 1e10);
  if (device_->info().peak_bytes_per_s) {
    EXPECT_LT(ceilings.copy_bytes_per_s, 1.02 * *device_->info().peak_bytes_per_s);
  }
  EXPECT_LT(ceilings.event_overhead_s.value_or(1.0), 1e-4);
}

}  // namespace
}  // namespace nf4bench
