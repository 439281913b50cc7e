// Every CUDA variant, output type, blocksize and kind of absmax, on shapes that end in the middle
// of everything a kernel may vectorise over. The buffers end exactly where the tensor does, so that
// a memory checker sees any access past them.

#include "gpu_fixture.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/weight.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

class CudaVariants : public GpuTest {
 protected:
  static void expect_exact(const nf4::SyntheticSpec& spec,
                           const std::vector<nf4::OutputType>& types) {
    const nf4::Nf4Tensor tensor = nf4::make_synthetic(spec);
    for (const nf4::OutputType type : types) {
      const std::vector<std::byte> expected = nf4::reference_dequantize(tensor, type);
      const auto workload =
          device_->upload(operation::dequantize_work(tensor, type), device::UploadPurpose::kVerify);
      for (const kernels::Variant& variant :
           operation::dequantize().catalog(device_->info().kind).variants) {
        ASSERT_EQ(workload->unsupported(variant), "") << variant.name;
        const record::Verification comparison = workload->verify(variant, expected);
        EXPECT_EQ(comparison.compared, tensor.elements);
        EXPECT_TRUE(comparison.passed())
            << variant.name << " " << to_string(type) << " " << nf4::shape_to_string(spec.shape)
            << " blocksize " << spec.blocksize << " " << to_string(spec.absmax_kind) << ": "
            << comparison.mismatches << " wrong, first at "
            << comparison.first_mismatch.value_or(-1) << ", up to " << comparison.max_ulp << " ulp";
      }
    }
  }

  static inline const std::vector<nf4::OutputType> kTypes{std::begin(nf4::kOutputTypes),
                                                          std::end(nf4::kOutputTypes)};
};

TEST_F(CudaVariants, AreExactForEveryBlocksizeAndShape) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {1},        {2},       {3, 5}, {63},   {64},   {65},         {7, 64},   {5, 77},
      {1000, 37}, {257, 65}, {4095}, {4097}, {8191}, {3, 5, 1111}, {512, 520}};
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (int blocksize = nf4::kMinBlocksize; blocksize <= nf4::kMaxBlocksize; blocksize *= 2) {
      for (const auto& shape : shapes) {
        expect_exact({.shape = shape,
                      .blocksize = blocksize,
                      .absmax_kind = kind,
                      .distribution = nf4::Distribution::kNormal,
                      .seed = static_cast<std::uint64_t>(blocksize)},
                     kTypes);
      }
    }
  }
}

TEST_F(CudaVariants, AreExactForExtremeScales) {
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (const int blocksize : {32, 64, 256}) {
      expect_exact({.shape = {129, 1023},
                    .blocksize = blocksize,
                    .absmax_kind = kind,
                    .distribution = nf4::Distribution::kExtremes},
                   kTypes);
    }
  }
}

TEST_F(CudaVariants, AreExactForEveryHalfPrecisionScale) {
  // Plain absmax of every float16 and bfloat16 value, NaN and infinities included: 65,536 blocks of
  // 32 whose nibbles run through all codes.
  for (const bool is_bfloat16 : {false, true}) {
    nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {65536, 32},
                                                 .blocksize = 32,
                                                 .absmax_kind = nf4::AbsmaxKind::kPlain,
                                                 .distribution = nf4::Distribution::kRandomCodes});
    for (std::uint32_t i = 0; i < 65536; ++i) {
      // The same 16 bits as the top of a float32, or spread over a float32's low exponents.
      const std::uint32_t bits = is_bfloat16 ? i << 16 : i << 9;
      std::memcpy(&tensor.absmax[i], &bits, sizeof(bits));
    }
    for (std::size_t i = 0; i < tensor.packed.size(); ++i) {
      tensor.packed[i] = static_cast<std::uint8_t>((2 * i % 16) << 4 | (2 * i + 1) % 16);
    }
    for (const nf4::OutputType type : kTypes) {
      const std::vector<std::byte> expected = nf4::reference_dequantize(tensor, type);
      const auto workload =
          device_->upload(operation::dequantize_work(tensor, type), device::UploadPurpose::kVerify);
      for (const kernels::Variant& variant :
           operation::dequantize().catalog(device_->info().kind).variants) {
        EXPECT_TRUE(workload->verify(variant, expected).passed())
            << variant.name << " " << to_string(type);
      }
    }
  }
}

TEST_F(CudaVariants, AreExactInEveryConfiguration) {
  int configurations = 0;
  for (const kernels::Variant& variant :
       operation::dequantize().catalog(device_->info().kind).variants) {
    for (const char* const* config = variant.configs; config != nullptr && *config; ++config) {
      ++configurations;
      const auto device = device::open_cuda_device(0, {.config = *config});
      for (const int blocksize : {32, 64, 128, 4096}) {
        for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
          const nf4::Nf4Tensor tensor =
              nf4::make_synthetic({.shape = {1021, 1031},
                                   .blocksize = blocksize,
                                   .absmax_kind = kind,
                                   .distribution = nf4::Distribution::kExtremes});
          for (const nf4::OutputType type : kTypes) {
            const auto workload = device->upload(operation::dequantize_work(tensor, type),
                                                 device::UploadPurpose::kVerify);
            const auto expected = nf4::reference_dequantize(tensor, type);
            for (int run = 0; run < 3; ++run) {
              EXPECT_TRUE(workload->verify(variant, expected).passed())
                  << variant.name << " " << *config << " " << to_string(type) << " blocksize "
                  << blocksize;
            }
          }
        }
      }
    }
  }
  EXPECT_GE(configurations, 2);
}

TEST_F(CudaVariants, AreExactPastTwoToThe31Elements) {
  if (device_->info().memory_bytes < (std::int64_t{24} << 30)) {
    GTEST_SKIP() << "needs 24 GiB of device memory";
  }
  expect_exact(
      {.shape = {(std::int64_t{1} << 31) + 65}, .distribution = nf4::Distribution::kRandomCodes},
      {nf4::OutputType::kFloat16});
}

}  // namespace
}  // namespace nf4bench
