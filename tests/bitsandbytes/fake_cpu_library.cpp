// Exports what libbitsandbytes_cpu does, on the weights that it arranges. NF4BENCH_TEST_BNB_CPU
// chooses the processor it finds: "plain" has no bfloat16 instructions.

#include "nf4/arithmetic.hpp"
#include "nf4/format.hpp"

#include <cstdlib>
#include <cstring>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace nf4bench::nf4;

namespace {

bool is_plain() {
  const char* const kind = std::getenv("NF4BENCH_TEST_BNB_CPU");
  return kind != nullptr && std::strcmp(kind, "plain") == 0;
}

template <class Element, class Round>
void decode(const unsigned char* packed, const float* absmax, Element* out, long long blocksize,
            long long count, Round round) {
  for (long long i = 0; i < count; ++i) {
    const int code = i % 2 == 0 ? packed[i / 2] >> 4 : packed[i / 2] & 15;
    out[i] = round(multiply_flushed(codebook_value(code), absmax[i / blocksize]));
  }
}

}  // namespace

FAKE_EXPORT bool has_avx512bf16_cpu() {
  return !is_plain();
}

FAKE_EXPORT bool has_avx512f_cpu() {
  return !is_plain();
}

FAKE_EXPORT void cdequantize_blockwise_cpu_fp32(float* code, unsigned char* codes,
                                                const float* absmax, float* out,
                                                long long blocksize, long long n) {
  for (long long i = 0; i < n; ++i) {
    out[i] = multiply_flushed(code[codes[i]], absmax[i / blocksize]);
  }
}

FAKE_EXPORT void cdequantize_blockwise_cpu_nf4_fp16(unsigned char* packed, const float* absmax,
                                                    std::uint16_t* out, long long blocksize,
                                                    long long m, long long n) {
  decode(packed, absmax, out, blocksize, m * n, to_float16_bits);
}

FAKE_EXPORT void cdequantize_blockwise_cpu_nf4_bf16(unsigned char* packed, const float* absmax,
                                                    std::uint16_t* out, long long blocksize,
                                                    long long m, long long n) {
  decode(packed, absmax, out, blocksize, m * n, to_bfloat16_bits);
}

FAKE_EXPORT void cdequantize_blockwise_cpu_nf4_fp32(unsigned char* packed, const float* absmax,
                                                    float* out, long long blocksize, long long m,
                                                    long long n) {
  decode(packed, absmax, out, blocksize, m * n, [](float value) { return value; });
}

// The weight comes as _convert_weight_packed_for_cpu of bitsandbytes 0.50 arranges it: reshaped to
// [n / 32, 32, k / 2, 2], the middle two swapped, and of each 64 codes the second half in the high
// bits; the scales are transposed.
FAKE_EXPORT void gemv_4bit_inference_cpu_nf4_bf16(std::int64_t m, std::int64_t n, std::int64_t k,
                                                  const std::uint16_t* x, const unsigned char* w,
                                                  const std::uint16_t* absmax, std::uint16_t* out,
                                                  std::int64_t blocksize, std::int64_t x_stride,
                                                  std::int64_t out_stride) {
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t token = 0; token < m; ++token) {
      double sum = 0;
      for (std::int64_t column = 0; column < k; ++column) {
        const std::int64_t group = (row / 32) * (k / 2) + column / 2;
        const std::int64_t at = (row % 32) * 2 + column % 2;  // among the group's 64 codes
        const unsigned char pair = w[group * 32 + at % 32];
        const float scale = from_bfloat16_bits(absmax[column / blocksize * n + row]);
        const float weight =
            from_bfloat16_bits(to_bfloat16_bits(codebook_value(at < 32 ? pair & 15 : pair >> 4))) *
            scale;
        sum += double{from_bfloat16_bits(x[token * x_stride + column])} * weight;
      }
      out[token * out_stride + row] = to_bfloat16_bits(static_cast<float>(sum));
    }
  }
}
