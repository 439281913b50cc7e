// Exports what libbitsandbytes does, decodes on the host, and keeps a record of how it was called.
//   FAKE_WITHOUT_STREAM  as builds that took no stream
//   FAKE_LACKS_BF16      without one of the functions
//   FAKE_WITHOUT_GEMM    as builds before 0.50

#include "bitsandbytes/fake_cuda_library.hpp"

#include "nf4/arithmetic.hpp"
#include "nf4/format.hpp"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using nf4bench::test::FakeCall;

FAKE_EXPORT FakeCall fake_calls[nf4bench::test::kFakeCalls];
FAKE_EXPORT int fake_call_count;
FakeCall fake_calls[nf4bench::test::kFakeCalls] = {};
int fake_call_count = 0;

namespace {

void record(const FakeCall& call) {
  fake_calls[fake_call_count++ % nf4bench::test::kFakeCalls] = call;
}

template <class Element, class Round>
void decode(const unsigned char* packed, const float* absmax, Element* out, int blocksize, int n,
            Round round) {
  for (int i = 0; i < n; ++i) {
    const int code = i % 2 == 0 ? packed[i / 2] >> 4 : packed[i / 2] & 15;
    out[i] = round(nf4bench::nf4::multiply_flushed(nf4bench::nf4::codebook_value(code),
                                                   absmax[i / blocksize]));
  }
}

}  // namespace

#ifdef FAKE_WITHOUT_STREAM
#define FAKE_STREAM_PARAMETER
#define FAKE_STREAM nullptr
// The C++ functions behind the C ones are exported as well; their names tell the arguments.
struct __half;
__attribute__((visibility("default"))) void dequantizeBlockwise_fp16_nf4(float*, unsigned char*,
                                                                         float*, __half*, int, int);
void dequantizeBlockwise_fp16_nf4(float*, unsigned char*, float*, __half*, int, int) {}
#else
#define FAKE_STREAM_PARAMETER , void* stream
#define FAKE_STREAM stream
#endif

FAKE_EXPORT void cdequantize_blockwise_fp32(float* code, unsigned char* codes, float* absmax,
                                            float* out, int blocksize,
                                            const int n FAKE_STREAM_PARAMETER) {
  record({__func__, code, codes, absmax, out, blocksize, n, FAKE_STREAM});
  for (int i = 0; i < n; ++i) {
    out[i] = nf4bench::nf4::multiply_flushed(code[codes[i]], absmax[i / blocksize]);
  }
}

FAKE_EXPORT void cdequantize_blockwise_fp16_nf4(float* code, unsigned char* codes, float* absmax,
                                                std::uint16_t* out, int blocksize,
                                                const int n FAKE_STREAM_PARAMETER) {
  record({__func__, code, codes, absmax, out, blocksize, n, FAKE_STREAM});
  decode(codes, absmax, out, blocksize, n, nf4bench::nf4::to_float16_bits);
}

#ifndef FAKE_LACKS_BF16
FAKE_EXPORT void cdequantize_blockwise_bf16_nf4(float* code, unsigned char* codes, float* absmax,
                                                std::uint16_t* out, int blocksize,
                                                const int n FAKE_STREAM_PARAMETER) {
  record({__func__, code, codes, absmax, out, blocksize, n, FAKE_STREAM});
  decode(codes, absmax, out, blocksize, n, nf4bench::nf4::to_bfloat16_bits);
}
#endif

FAKE_EXPORT void cdequantize_blockwise_fp32_nf4(float* code, unsigned char* codes, float* absmax,
                                                float* out, int blocksize,
                                                const int n FAKE_STREAM_PARAMETER) {
  record({__func__, code, codes, absmax, out, blocksize, n, FAKE_STREAM});
  decode(codes, absmax, out, blocksize, n, [](float value) { return value; });
}

#ifndef FAKE_WITHOUT_STREAM

namespace {

float number(std::uint16_t bits, bool is_float16) {
  return is_float16 ? nf4bench::nf4::from_float16_bits(bits)
                    : nf4bench::nf4::from_bfloat16_bits(bits);
}

std::uint16_t rounded(float value, bool is_float16) {
  return is_float16 ? nf4bench::nf4::to_float16_bits(value)
                    : nf4bench::nf4::to_bfloat16_bits(value);
}

struct Weight {
  const unsigned char* packed;
  const float* absmax;
  const unsigned char* codes;
  const float* map;
  const float* offset;
  int blocksize;

  float scale(int block) const {
    if (codes == nullptr) return absmax[block];
    return nf4bench::nf4::nested_scale(map[codes[block]], absmax[block / 256], *offset);
  }

  float at(int i) const {
    const int code = i % 2 == 0 ? packed[i / 2] >> 4 : packed[i / 2] & 15;
    return nf4bench::nf4::multiply_flushed(nf4bench::nf4::codebook_value(code),
                                           scale(i / blocksize));
  }
};

struct Sizes {
  int m, n, k;
  bool is_float16;
};

void multiply(const Sizes& sizes, const std::uint16_t* x, const Weight& weight, std::uint16_t* y) {
  for (int m = 0; m < sizes.m; ++m) {
    for (int n = 0; n < sizes.n; ++n) {
      double sum = 0;
      for (int k = 0; k < sizes.k; ++k) {
        const std::uint16_t bits = rounded(weight.at(n * sizes.k + k), sizes.is_float16);
        sum +=
            double{number(x[m * sizes.k + k], sizes.is_float16)} * number(bits, sizes.is_float16);
      }
      y[m * sizes.n + n] = rounded(static_cast<float>(sum), sizes.is_float16);
    }
  }
}

}  // namespace

#ifndef FAKE_WITHOUT_GEMM
#define FAKE_GEMM(suffix, is_float16)                                                       \
  FAKE_EXPORT void cgemm_4bit_##suffix(                                                     \
      const std::uint16_t* x, const unsigned char* packed, const float* absmax,             \
      const unsigned char* codes, const float* map, const float* offset, std::uint16_t* y,  \
      const void* bias, int m, int n, int k, int blocksize, int type, void* stream) {       \
    record({__func__, map, packed, absmax, y, blocksize, m, stream});                       \
    if (bias != nullptr || type != 2) return;                                               \
    multiply({m, n, k, is_float16}, x, {packed, absmax, codes, map, offset, blocksize}, y); \
  }
FAKE_GEMM(fp16, true)
FAKE_GEMM(bf16, false)
#endif

#define FAKE_GEMV(suffix, is_float16)                                                              \
  FAKE_EXPORT void cgemm_4bit_inference_naive_##suffix(                                            \
      int m, int n, int k, const std::uint16_t* x, const unsigned char* packed,                    \
      const float* absmax, const float* code, std::uint16_t* y, int lda, int ldb, int ldc,         \
      int blocksize, void* stream) {                                                               \
    record({__func__, code, packed, absmax, y, blocksize, m, stream});                             \
    if (n != 1 || lda != m || ldb != (k + 1) / 2 || ldc != m || code[15] != 1.0f) return;          \
    multiply({1, m, k, is_float16}, x, {packed, absmax, nullptr, nullptr, nullptr, blocksize}, y); \
  }
FAKE_GEMV(fp16, true)
FAKE_GEMV(bf16, false)

#endif
