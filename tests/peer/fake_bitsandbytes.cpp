// Exports what libbitsandbytes does, decodes on the host, and keeps a record of how it was called.
//   FAKE_WITHOUT_STREAM  as builds that took no stream
//   FAKE_LACKS_BF16      without one of the functions

#include "peer/fake_bitsandbytes.hpp"

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
