// How libbitsandbytes' matrix products are called. A stand-in exports the same functions,
// multiplies on the host and records its calls.

#include "bitsandbytes/bitsandbytes.hpp"
#include "bitsandbytes/fake_cuda_library.hpp"
#include "nf4/arithmetic.hpp"
#include "peer/product.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

using test::FakeCall;
using test::Product;
using testing::ElementsAre;
using testing::HasSubstr;

void add_offset(float* scales, std::int64_t count, const float* offset, CUstream_st*) {
  for (std::int64_t i = 0; i < count; ++i) scales[i] += *offset;
}

const float* codebook() {
  static const std::vector<float> values = [] {
    std::vector<float> made;
    for (int code = 0; code < nf4::kCodes; ++code) made.push_back(nf4::codebook_value(code));
    return made;
  }();
  return values.data();
}

// Decodes behind what `decode` needs itself, and multiplies in order.
kernels::Variant decode_then_multiply(const kernels::Variant& decode) {
  kernels::Variant variant;
  variant.traits = decode.traits;
  variant.traits.launches = decode.traits.launches + 1;
  variant.unsupported = decode.unsupported;
  const auto weight_at = [decode](const kernels::Problem& problem) {
    return (workspace_of(decode, problem, {}) + 255) / 256 * 256;
  };
  variant.workspace_bytes = [weight_at](const kernels::Problem& problem, const kernels::Launch&) {
    return static_cast<std::size_t>(weight_at(problem) + 2 * problem.elements);
  };
  variant.launch = [decode, weight_at](const kernels::Job& job, const kernels::Launch& launch) {
    kernels::Job decoding = job;
    decoding.output = static_cast<std::uint8_t*>(job.workspace) + weight_at(job);
    decode.launch(decoding, launch);
    const bool is_float16 = job.output_type == nf4::OutputType::kFloat16;
    const auto number = [&](const void* values, std::int64_t i) {
      const std::uint16_t bits = static_cast<const std::uint16_t*>(values)[i];
      return double{is_float16 ? nf4::from_float16_bits(bits) : nf4::from_bfloat16_bits(bits)};
    };
    for (std::int64_t at = 0; at < job.tokens * job.outputs; ++at) {
      double sum = 0;
      for (std::int64_t k = 0; k < job.inputs; ++k) {
        sum += number(job.input, at / job.outputs * job.inputs + k) *
               number(decoding.output, at % job.outputs * job.inputs + k);
      }
      const auto value = static_cast<float>(sum);
      static_cast<std::uint16_t*>(job.output)[at] =
          is_float16 ? nf4::to_float16_bits(value) : nf4::to_bfloat16_bits(value);
    }
  };
  return variant;
}

const bitsandbytes::CudaCalls kHostTools = {.add_offset = add_offset,
                                            .default_stream_waits_for = [](CUstream_st*) {},
                                            .wait_for_default_stream = [](CUstream_st*) {},
                                            .codebook = codebook,
                                            .decode_then_cublas = decode_then_multiply};

constexpr kernels::DeviceFacts kHopper = {.compute_capability = 90, .multiprocessors = 132};

class Products : public testing::Test {
 protected:
  explicit Products(const char* path = TEST_BNB)
      : library_(path),
        variants_(bitsandbytes::cuda_products(
            bitsandbytes::find_cuda_library(library_), kHostTools,
            {.chosen = "bnb", .gemm = "bnb_gemm", .gemv = "bnb_gemv", .chain = "bnb_chain"})),
        calls_(static_cast<FakeCall*>(library_.find("fake_calls"))),
        count_(static_cast<int*>(library_.find("fake_call_count"))) {
    *count_ = 0;
  }

  const kernels::Variant& chosen() const { return variants_[0]; }
  const kernels::Variant& gemm() const { return variants_[1]; }
  const kernels::Variant& gemv() const { return variants_[2]; }
  const kernels::Variant& chain() const { return variants_[3]; }

  // The functions that were called since this was asked last.
  std::vector<std::string> calls() {
    std::vector<std::string> names;
    for (int i = 0; i < *count_; ++i) names.emplace_back(calls_[i].function);
    *count_ = 0;
    return names;
  }

  SharedLibrary library_;
  std::vector<kernels::Variant> variants_;
  FakeCall* calls_;
  int* count_;
};

class ProductsBeforeGemm : public Products {
 protected:
  ProductsBeforeGemm() : Products(TEST_BNB_WITHOUT_GEMM) {}
};

class ProductsWithoutStream : public Products {
 protected:
  ProductsWithoutStream() : Products(TEST_BNB_WITHOUT_STREAM) {}
};

kernels::Problem problem(std::int64_t tokens, std::int64_t outputs, std::int64_t inputs) {
  kernels::Problem made;
  made.tokens = tokens;
  made.outputs = outputs;
  made.inputs = inputs;
  made.elements = outputs * inputs;
  made.nested = true;
  made.output_type = nf4::OutputType::kBfloat16;
  return made;
}

TEST_F(Products, AreRight) {
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
      for (const std::int64_t tokens : {1, 3}) {
        Product product({.shape = {24, 128}, .blocksize = 32, .absmax_kind = kind}, type, tokens);
        for (const kernels::Variant& variant : variants_) {
          if (variant.name == gemv().name && tokens != 1) continue;
          EXPECT_EQ(product.workload().unsupported(variant), "") << variant.name;
          EXPECT_EQ(product.verdict(variant), "") << variant.name << to_string(type) << tokens;
        }
      }
    }
  }
}

TEST_F(Products, AreCalledAsItsPythonCodeAndUnslothCallThem) {
  Product product({.shape = {24, 128}}, nf4::OutputType::kBfloat16, 1);
  product.verdict(gemm());
  EXPECT_THAT(calls(), ElementsAre("cgemm_4bit_bf16"));
  product.verdict(gemv());
  EXPECT_THAT(calls(),
              ElementsAre("cdequantize_blockwise_fp32", "cgemm_4bit_inference_naive_bf16"));
  product.verdict(chain());
  EXPECT_THAT(calls(), ElementsAre("cdequantize_blockwise_fp32", "cdequantize_blockwise_bf16_nf4"));
}

TEST_F(Products, SayWhatTheyCannotDo) {
  EXPECT_EQ(gemm().unsupported(problem(4, 64, 128), kHopper), nullptr);
  EXPECT_THAT(gemm().unsupported(problem(4, 1280, 3420), kHopper), HasSubstr("no whole blocks"));
  EXPECT_THAT(gemv().unsupported(problem(1, 1280, 3420), kHopper), HasSubstr("no whole blocks"));
  EXPECT_EQ(chain().unsupported(problem(4, 1280, 3420), kHopper), nullptr);
  EXPECT_STREQ(gemv().unsupported(problem(2, 64, 128), kHopper), "multiplies one token alone");
  EXPECT_THAT(gemm().unsupported(problem(1, 1 << 16, 1 << 15), kHopper), HasSubstr("32 bits"));
  EXPECT_THAT(chosen().unsupported(problem(1, 1 << 16, 1 << 15), kHopper), HasSubstr("32 bits"));
}

TEST_F(Products, AFunctionThatTheBuildLacksIsAReason) {
  kernels::Problem float32 = problem(1, 64, 128);
  float32.output_type = nf4::OutputType::kFloat32;
  EXPECT_THAT(gemm().unsupported(float32, kHopper), HasSubstr("no cgemm_4bit for the type"));
  EXPECT_THAT(gemv().unsupported(float32, kHopper), HasSubstr("no cgemm_4bit_inference_naive"));
  EXPECT_EQ(chosen().unsupported(float32, kHopper), nullptr);
}

// On the CPU device, which has no compute capability, the library fuses up to seven tokens.
TEST_F(Products, TheChosenOneIsWhatBitsandbytesChooses) {
  const auto called = [&](std::int64_t tokens, const std::vector<std::int64_t>& shape) {
    Product product({.shape = shape}, nf4::OutputType::kFloat16, tokens);
    EXPECT_EQ(product.verdict(chosen()), "");
    return calls().back();
  };
  EXPECT_EQ(called(1, {24, 128}), "cgemm_4bit_fp16");
  EXPECT_EQ(called(7, {24, 128}), "cgemm_4bit_fp16");
  EXPECT_EQ(called(8, {24, 128}), "cdequantize_blockwise_fp16_nf4");
  EXPECT_EQ(called(1, {24, 100}), "cdequantize_blockwise_fp16_nf4");
}

TEST_F(ProductsBeforeGemm, TheChosenOneIsForOneTokenOrDecodesFirst) {
  const auto called = [&](std::int64_t tokens, const std::vector<std::int64_t>& shape) {
    Product product({.shape = shape}, nf4::OutputType::kFloat16, tokens);
    EXPECT_EQ(product.verdict(chosen()), "");
    return calls().back();
  };
  EXPECT_EQ(called(1, {24, 128}), "cgemm_4bit_inference_naive_fp16");
  EXPECT_EQ(called(2, {24, 128}), "cdequantize_blockwise_fp16_nf4");
  EXPECT_EQ(called(1, {24, 100}), "cdequantize_blockwise_fp16_nf4");
  EXPECT_THAT(gemm().unsupported(problem(1, 24, 128), kHopper), HasSubstr("no cgemm_4bit"));
}

TEST_F(ProductsWithoutStream, HaveOnlyTheChain) {
  EXPECT_NE(gemm().unsupported(problem(1, 24, 128), kHopper), nullptr);
  EXPECT_NE(gemv().unsupported(problem(1, 24, 128), kHopper), nullptr);
  EXPECT_EQ(chain().unsupported(problem(1, 24, 128), kHopper), nullptr);
  EXPECT_FALSE(chain().traits.capturable);
  EXPECT_FALSE(chosen().traits.capturable);
  Product product({.shape = {24, 128}}, nf4::OutputType::kBfloat16, 1);
  EXPECT_EQ(product.verdict(chosen()), "");
}

}  // namespace
}  // namespace nf4bench
