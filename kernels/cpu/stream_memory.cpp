#include "cpu/stream_memory.hpp"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace nf4bench::kernels::cpu {

#if defined(__SSE2__)

void copy_streaming(void* target, const void* source, std::size_t bytes) {
  auto* const to = static_cast<__m128i*>(target);
  const auto* const from = static_cast<const __m128i*>(source);
  const std::size_t whole = bytes / sizeof(__m128i);
  for (std::size_t i = 0; i < whole; ++i) _mm_stream_si128(to + i, _mm_load_si128(from + i));
  std::memcpy(to + whole, from + whole, bytes % sizeof(__m128i));
  _mm_sfence();
}

void fill_streaming(void* target, unsigned char value, std::size_t bytes) {
  auto* const to = static_cast<__m128i*>(target);
  const __m128i pattern = _mm_set1_epi8(static_cast<char>(value));
  const std::size_t whole = bytes / sizeof(__m128i);
  for (std::size_t i = 0; i < whole; ++i) _mm_stream_si128(to + i, pattern);
  std::memset(to + whole, value, bytes % sizeof(__m128i));
  _mm_sfence();
}

#else  // other processors decide by themselves when a write need not read first

void copy_streaming(void* target, const void* source, std::size_t bytes) {
  std::memcpy(target, source, bytes);
}

void fill_streaming(void* target, unsigned char value, std::size_t bytes) {
  std::memset(target, value, bytes);
}

#endif

}  // namespace nf4bench::kernels::cpu
