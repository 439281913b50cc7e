/* A peer for the CPU device: two variants in portable C.
 *
 *   nf4bench run --shape 4096x4096 --device cpu --peer mine=./libcpu_peer.so
 *
 * shows two variants: "mine" decodes element by element, and "mine.table" rounds the 16 values of a
 * block once and then copies them. */
#include "nf4bench_peer.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const float kCodebook[16] = {
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

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Everything below the smallest normal number becomes a zero of its sign, as on the GPU. */
static float flush(float value) {
  return fabsf(value) < FLT_MIN ? copysignf(0.0f, value) : value;
}

static float multiply(float a, float b) {
  return flush(flush(a) * flush(b));
}

static float scale_of(const nf4bench_peer_job* job, int64_t block) {
  if (job->absmax != NULL) return job->absmax[block];
  return multiply(job->nested_map[job->absmax_codes[block]], job->nested_absmax[block / 256]) +
         job->nested_offset;
}

/* Removes the lowest `count` bits of `value`; rounds to the nearest, ties to even. */
static uint32_t round_off(uint32_t value, int count) {
  const uint32_t half = (uint32_t)1 << (count - 1);
  return (value + half - 1 + (value >> count & 1)) >> count;
}

static uint16_t to_bfloat16(float value) {
  return isnan(value) ? 0x7fff : (uint16_t)round_off(bits_of(value), 16);
}

static uint16_t to_float16(float value) {
  const uint32_t bits = bits_of(value);
  const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  const int exponent = (int)(magnitude >> 23) - 127;
  if (isnan(value)) return 0x7fff;
  if (exponent >= 16) return sign | 0x7c00; /* infinity */
  if (exponent >= -14) return sign | (uint16_t)round_off(magnitude - (112u << 23), 13);
  if (exponent < -25) return sign;
  /* A subnormal float16: the mantissa with its hidden bit, shifted to units of 2^-24. */
  return sign | (uint16_t)round_off((magnitude & 0x7fffff) | 0x800000, -1 - exponent);
}

/* Element `index` of an array of `type`. */
static void store(void* array, int64_t index, int32_t type, float value) {
  if (type == NF4BENCH_PEER_FLOAT32) {
    ((float*)array)[index] = value;
  } else {
    ((uint16_t*)array)[index] =
        type == NF4BENCH_PEER_FLOAT16 ? to_float16(value) : to_bfloat16(value);
  }
}

static unsigned nibble_of(const nf4bench_peer_job* job, int64_t element) {
  const unsigned byte = job->packed[element / 2];
  return element % 2 == 0 ? byte >> 4 : byte & 15;
}

static int decode_each(const nf4bench_peer_job* job, void* stream) {
  (void)stream; /* NULL on the CPU */
  for (int64_t i = 0; i < job->elements; ++i) {
    const float scale = scale_of(job, i >> job->block_shift);
    store(job->output, i, job->output_type, multiply(kCodebook[nibble_of(job, i)], scale));
  }
  return 0;
}

static int decode_by_table(const nf4bench_peer_job* job, void* stream) {
  (void)stream;
  const size_t size = job->output_type == NF4BENCH_PEER_FLOAT32 ? 4 : 2;
  char* const output = job->output;
  char* const table = job->workspace; /* aligned, and of the size that table_bytes() gave */
  for (int64_t block = 0; block < job->blocks; ++block) {
    const float scale = scale_of(job, block);
    for (int code = 0; code < 16; ++code) {
      store(table, code, job->output_type, multiply(kCodebook[code], scale));
    }
    const int64_t first = block << job->block_shift;
    int64_t last = (block + 1) << job->block_shift;
    if (last > job->elements) last = job->elements; /* the last block may be short */
    for (int64_t i = first; i < last; ++i) {
      memcpy(output + (size_t)i * size, table + nibble_of(job, i) * size, size);
    }
  }
  return 0;
}

static size_t table_bytes(const nf4bench_peer_job* job) {
  return job->output_type == NF4BENCH_PEER_FLOAT32 ? 16 * 4 : 16 * 2;
}

static const nf4bench_peer_variant kVariants[] = {
    {
        .summary = "one element at a time",
        .operation = NF4BENCH_PEER_DEQUANTIZE,
        .device = NF4BENCH_PEER_CPU,
        .launches = 1,
        .launch = decode_each,
    },
    {
        .name = "table",
        .summary = "16 rounded values a block, copied",
        .operation = NF4BENCH_PEER_DEQUANTIZE,
        .device = NF4BENCH_PEER_CPU,
        .launches = 1,
        .workspace_bytes = table_bytes,
        .launch = decode_by_table,
    },
};

const nf4bench_peer_table* nf4bench_peer_v1(void) {
  static const nf4bench_peer_table table = {
      .abi = NF4BENCH_PEER_ABI,
      .variant_bytes = sizeof(nf4bench_peer_variant),
      .variant_count = sizeof kVariants / sizeof kVariants[0],
      .variants = kVariants,
  };
  return &table;
}
