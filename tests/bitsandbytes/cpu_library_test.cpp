// libbitsandbytes for the CPU: a stand-in, and the real one where NF4BENCH_BITSANDBYTES_CPU names
// it.

#include "bitsandbytes/bitsandbytes.hpp"
#include "nf4/reference.hpp"
#include "operation/dequantize.hpp"
#include "peer/peers.hpp"
#include "peer/product.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace nf4bench {
namespace {

using test::Product;
using testing::ElementsAre;
using testing::HasSubstr;

const char* path_of(const std::string& which) {
  return which == "Real" ? std::getenv("NF4BENCH_BITSANDBYTES_CPU") : TEST_BNB_CPU;
}

class BitsandbytesOnCpu : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (path_of(GetParam()) == nullptr) {
      GTEST_SKIP() << "NF4BENCH_BITSANDBYTES_CPU names no library";
    }
  }

  static peer::Peers load(const std::string& operation) {
    return {{{"bnb", path_of(GetParam())}},
            {.kind = record::DeviceKind::kCpu, .operation = operation},
            {}};
  }
};

INSTANTIATE_TEST_SUITE_P(Library, BitsandbytesOnCpu, testing::Values("StandIn", "Real"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(BitsandbytesOnCpu, DecodesEveryBit) {
  const peer::Peers peers = load("dequantize");
  ASSERT_EQ(peers.variants().size(), 2u) << testing::PrintToString(peers.warnings());
  const auto device = device::open_cpu_device({});
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (const int blocksize : {32, 64, 128, 256}) {  // rows of whole blocks
      const nf4::Nf4Tensor tensor =
          nf4::make_synthetic({.shape = {96, 256}, .blocksize = blocksize, .absmax_kind = kind});
      for (const nf4::OutputType type : nf4::kOutputTypes) {
        const auto expected = nf4::reference_dequantize(tensor, type);
        const auto workload = device->upload(operation::dequantize_work(tensor, type),
                                             device::UploadPurpose::kVerify);
        for (const kernels::Variant& variant : peers.variants()) {
          ASSERT_EQ(workload->unsupported(variant), "");
          EXPECT_EQ(workload->verify(variant, expected).mismatches, 0)
              << variant.name << to_string(kind) << blocksize << to_string(type);
        }
      }
    }
  }
}

TEST_P(BitsandbytesOnCpu, Multiplies) {
  const peer::Peers peers = load("matmul");
  ASSERT_EQ(peers.variants().size(), 1u) << testing::PrintToString(peers.warnings());
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (const std::int64_t tokens : {1, 3, 17}) {
      Product product({.shape = {96, 256}, .absmax_kind = kind}, nf4::OutputType::kBfloat16,
                      tokens);
      const std::string reason = product.workload().unsupported(peers.variants()[0]);
      if (reason.starts_with("no product")) GTEST_SKIP() << reason;
      EXPECT_EQ(product.verdict(peers.variants()[0]), "") << to_string(kind) << tokens;
    }
  }
}

// Of the stand-in alone from here on.

class BitsandbytesForProcessor : public testing::Test {
 protected:
  static bitsandbytes::CpuLibrary find(const char* processor) {
    setenv("NF4BENCH_TEST_BNB_CPU", processor, 1);
    const SharedLibrary library(TEST_BNB_CPU);
    const bitsandbytes::CpuLibrary found = bitsandbytes::find_cpu_library(library);
    unsetenv("NF4BENCH_TEST_BNB_CPU");
    return found;
  }

  static std::string why_not(const kernels::Variant& variant, const kernels::Problem& problem) {
    const char* const reason = kernels::why_unsupported(variant, problem, {});
    return reason == nullptr ? "" : reason;
  }
};

kernels::Problem problem(std::int64_t outputs, std::int64_t inputs, int block_shift = 6) {
  kernels::Problem made;
  made.outputs = outputs;
  made.inputs = inputs;
  made.elements = outputs * inputs;
  made.block_shift = block_shift;
  made.tokens = 1;
  made.output_type = nf4::OutputType::kBfloat16;
  return made;
}

TEST_F(BitsandbytesForProcessor, WithoutBfloat16InstructionsMultipliesNothing) {
  const auto with = bitsandbytes::cpu_products(find("new"), "bnb");
  EXPECT_EQ(why_not(with[0], problem(64, 128)), "");
  const auto without = bitsandbytes::cpu_products(find("plain"), "bnb");
  EXPECT_THAT(why_not(without[0], problem(64, 128)), HasSubstr("AVX512-BF16"));
}

TEST_F(BitsandbytesForProcessor, SaysWhatItCannotMultiply) {
  const kernels::Variant product = bitsandbytes::cpu_products(find("new"), "bnb")[0];
  EXPECT_THAT(why_not(product, problem(48, 128)), HasSubstr("multiple of 32"));
  EXPECT_THAT(why_not(product, problem(64, 100)), HasSubstr("whole blocks"));
  kernels::Problem float16 = problem(64, 128);
  float16.output_type = nf4::OutputType::kFloat16;
  EXPECT_THAT(why_not(product, float16), HasSubstr("bfloat16"));
}

TEST_F(BitsandbytesForProcessor, SaysWhatItLeavesToPyTorch) {
  const kernels::Variant chain = bitsandbytes::cpu_variants(find("new"), "bnb", "bnb_d")[0];
  EXPECT_THAT(why_not(chain, problem(5, 77)), HasSubstr("odd length"));
  EXPECT_THAT(why_not(chain, problem(64, 4096, 11)), HasSubstr("2048"));
  EXPECT_EQ(why_not(chain, problem(64, 4096, 10)), "");
  const kernels::Variant plain = bitsandbytes::cpu_variants(find("plain"), "b", "b_d")[0];
  EXPECT_EQ(why_not(plain, problem(64, 4096, 11)), "");
}

}  // namespace
}  // namespace nf4bench
