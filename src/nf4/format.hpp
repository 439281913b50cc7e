#pragma once

// What NF4 as bitsandbytes writes it looks like. C++17 and std only: device code includes this.

#include <cstddef>
#include <cstdint>

// The project's one macro: marks a function that both the host and a kernel call.
#if defined(__CUDACC__)
#define NF4BENCH_HOST_DEVICE __host__ __device__
#else
#define NF4BENCH_HOST_DEVICE
#endif

namespace nf4bench::nf4 {

// The type of a dequantized weight.
enum class OutputType : std::uint8_t { kFloat16, kBfloat16, kFloat32 };

// Bytes of one element of `type`.
NF4BENCH_HOST_DEVICE constexpr std::size_t size_in_bytes(OutputType type) {
  return type == OutputType::kFloat32 ? 4 : 2;
}

// "float16", "bfloat16" or "float32", as bitsandbytes and reports spell it.
constexpr const char* to_string(OutputType type) {
  return type == OutputType::kFloat16    ? "float16"
         : type == OutputType::kBfloat16 ? "bfloat16"
                                         : "float32";
}

// Half the distance from 1 to the next number of `type`: the greatest relative error of rounding.
constexpr double unit_roundoff(OutputType type) {
  return type == OutputType::kFloat16 ? 0x1p-11 : type == OutputType::kBfloat16 ? 0x1p-8 : 0x1p-24;
}

// The greatest finite number of `type`.
constexpr double largest(OutputType type) {
  return type == OutputType::kFloat16    ? 65504.0
         : type == OutputType::kBfloat16 ? 0x1.fep127
                                         : 0x1.fffffep127;
}

// The distance between the subnormal numbers of `type`: its smallest step.
constexpr double smallest_step(OutputType type) {
  return type == OutputType::kFloat16    ? 0x1p-24
         : type == OutputType::kBfloat16 ? 0x1p-133
                                         : 0x1p-149;
}

inline constexpr OutputType kOutputTypes[] = {OutputType::kFloat16, OutputType::kBfloat16,
                                              OutputType::kFloat32};

inline constexpr int kCodes = 16;              // values of one nibble
inline constexpr int kNestedMapEntries = 256;  // values of one absmax code
inline constexpr int kNestedBlocksize = 256;   // absmax codes that share one nested absmax
inline constexpr int kMinBlocksize = 32;
inline constexpr int kMaxBlocksize = 4096;

// The NF4 codebook: the value in [-1, 1] of nibble `code` (0..15). Same bits as bitsandbytes' table
// (csrc/kernels.cu), which its kernels use whatever the file's quant_map says.
NF4BENCH_HOST_DEVICE constexpr float codebook_value(int code) {
  constexpr float kCodebook[kCodes] = {
      -1.0f,
      -0.6961928009986877f,
      -0.5250730514526367f,
      -0.39491748809814453f,
      -0.28444138169288635f,
      -0.18477343022823334f,
      -0.09105003625154495f,
      0.0f,
      0.07958029955625534f,
      0.16093020141124725f,
      0.24611230194568634f,
      0.33791524171829224f,
      0.44070982933044434f,
      0.5626170039176941f,
      0.7229568362236023f,
      1.0f,
  };
  return kCodebook[code];
}

// True for the block sizes bitsandbytes writes: the powers of two from 32 to 4096.
constexpr bool is_legal_blocksize(std::int64_t blocksize) {
  return blocksize >= kMinBlocksize && blocksize <= kMaxBlocksize &&
         (blocksize & (blocksize - 1)) == 0;
}

// Bytes of `elements` packed nibbles. Element 2i is the high nibble of byte i, 2i+1 the low one.
NF4BENCH_HOST_DEVICE constexpr std::int64_t packed_bytes(std::int64_t elements) {
  return elements / 2 + elements % 2;
}

// Blocks that `count` values fill, the last one possibly short.
NF4BENCH_HOST_DEVICE constexpr std::int64_t block_count(std::int64_t count,
                                                        std::int64_t blocksize) {
  return count / blocksize + (count % blocksize != 0 ? 1 : 0);
}

}  // namespace nf4bench::nf4
