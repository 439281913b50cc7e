#pragma once

// Small kernels that serve measurement and verification, launched from host code.

#include "catalog.hpp"

#include <cstddef>
#include <cstdint>

namespace nf4bench::kernels::cuda {

// Compares as operation/judge.hpp defines it: two NaN are equal, all else agrees bit for bit.
void launch_compare(const OutputPairs& outputs, DeviceVerdict* verdicts, CUstream_st* stream);

// Holds outputs to as many ProductBound each.
void launch_product_judge(const OutputPairs& outputs, DeviceVerdict* verdicts, CUstream_st* stream);

// Pieces of kPoisonPiece bytes in each of `count` outputs: at `first` and every `stride` bytes from
// there, as far as the output's `bytes` go. Both are multiples of kPoisonPiece.
inline constexpr std::int64_t kPoisonPiece = 32;
struct PoisonPlaces {
  std::byte* const* outputs = nullptr;  // in device memory; each 256-byte aligned
  int count = 0;
  std::int64_t bytes = 0;  // of each output
  std::int64_t first = 0;
  std::int64_t stride = kPoisonPiece;
};

// Fills these pieces with `value`.
void launch_poison(const PoisonPlaces& places, unsigned char value, CUstream_st* stream);

// Cycles and nanoseconds of one multiprocessor at one moment.
struct ClockStamp {
  unsigned long long cycles;
  unsigned long long nanoseconds;
};

// Writes stamps[sm] for every multiprocessor that gets a block of the launch.
void launch_clock_stamp(ClockStamp* stamps, int multiprocessors, CUstream_st* stream);

// A kernel that does nothing.
void launch_nothing(CUstream_st* stream);

// Copies `bytes` (a multiple of 16) from `source` to `target`, or fills `target` when `source` is
// null: the shapes of the copy and write ceilings beside the driver's own.
void launch_copy(const void* source, void* target, std::int64_t bytes, CUstream_st* stream);

// Reads `bytes` (a multiple of 16) in the ordinary way, so that L2 holds lines that nobody has to
// write back. `sink` is a word of no use.
void launch_read(const void* source, std::int64_t bytes, float* sink, CUstream_st* stream);

// Stands between timed calls as other work does in a model: fills the device with blocks that
// compute for some microseconds, write four bytes each to `output` and let no kernel start early.
// Touches nothing else, so that caches stay as the calls left them.
void launch_spacer(float* output, int multiprocessors, CUstream_st* stream);

// Of its output.
std::int64_t spacer_output_bytes(int multiprocessors);

// Keeps the stream busy for about `nanoseconds`, so that launches queue up behind it.
void launch_busy(std::int64_t nanoseconds, CUstream_st* stream);

}  // namespace nf4bench::kernels::cuda
