/* A peer for the CPU device, in portable C.
 *
 *   nf4bench run --shape 4096x4096 --device cpu --peer mine=./libcpu_peer.so
 *
 * shows two variants that decode: "mine" does so element by element, and "mine.table" rounds the 16
 * values of a block once and then copies them. With --operation matmul there is one, "mine", which
 * decodes a row of the weight at a time and multiplies all tokens by it; with --operation experts
 * "mine" goes slot by slot, and does whole layers, too. */
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

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float from_float16(uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) return from_bits(sign | 0x7f800000 | magnitude << 13); /* Inf, NaN */
  /* Moved into the exponent of float32, also for subnormals, and scaled to its own. */
  return from_bits(sign | magnitude << 13) * 0x1p112f;
}

/* Element `index` of an array of `type`. */
static float load(const void* array, int64_t index, int32_t type) {
  if (type == NF4BENCH_PEER_FLOAT32) return ((const float*)array)[index];
  const uint16_t bits = ((const uint16_t*)array)[index];
  return type == NF4BENCH_PEER_FLOAT16 ? from_float16(bits) : from_bits((uint32_t)bits << 16);
}

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

/* `value` as it would come out of memory. */
static float rounded(float value, int32_t type) {
  if (type == NF4BENCH_PEER_FLOAT32) return value;
  return type == NF4BENCH_PEER_FLOAT16 ? from_float16(to_float16(value))
                                       : from_bits((uint32_t)to_bfloat16(value) << 16);
}

static size_t row_bytes(const nf4bench_peer_job* job) {
  return (size_t)job->inputs * sizeof(float);
}

static int multiply_by_rows(const nf4bench_peer_job* job, void* stream) {
  (void)stream;
  float* const row = job->workspace;
  for (int64_t n = 0; n < job->outputs; ++n) {
    /* Weights are rounded to the output type, as if they had been decoded to memory. */
    for (int64_t k = 0; k < job->inputs; ++k) {
      const int64_t i = n * job->inputs + k;
      const float scale = scale_of(job, i >> job->block_shift);
      row[k] = rounded(multiply(kCodebook[nibble_of(job, i)], scale), job->output_type);
    }
    for (int64_t m = 0; m < job->tokens; ++m) {
      float sum = 0.0f;
      for (int64_t k = 0; k < job->inputs; ++k) {
        sum += load(job->input, m * job->inputs + k, job->output_type) * row[k];
      }
      store(job->output, m * job->outputs + n, job->output_type, sum);
    }
  }
  return 0;
}

/* `row` times a matrix of `outputs` rows and `inputs` columns that begins with an element. */
static void multiply_row(const nf4bench_peer_job* job, int64_t first, int64_t outputs,
                         int64_t inputs, const float* row, float* result) {
  for (int64_t n = 0; n < outputs; ++n) {
    result[n] = 0.0f;
    for (int64_t k = 0; k < inputs; ++k) {
      const int64_t i = first + n * inputs + k;
      const float scale = scale_of(job, i >> job->block_shift);
      result[n] +=
          row[k] * rounded(multiply(kCodebook[nibble_of(job, i)], scale), job->output_type);
    }
  }
}

static int64_t first_outputs(const nf4bench_peer_job* job) {
  return job->columns * (job->activation == NF4BENCH_PEER_RELU2 ? 1 : 2);
}

/* Value `c` of what stands between the products of a layer, of what the first one gave. */
static float activated(const nf4bench_peer_job* job, const float* given, int64_t c) {
  const int in_turns = job->activation == NF4BENCH_PEER_GPTOSS;
  float gate = given[in_turns ? 2 * c : c];
  if (job->activation == NF4BENCH_PEER_RELU2) return gate < 0.0f ? 0.0f : gate * gate;
  float up = given[in_turns ? 2 * c + 1 : job->columns + c];
  if (in_turns) {
    if (gate > 7.0f) gate = 7.0f; /* NaN stays what it is */
    if (up > 7.0f) up = 7.0f;
    if (up < -7.0f) up = -7.0f;
    return (up + 1.0f) * gate / (1.0f + expf(-1.702f * gate));
  }
  if (job->activation == NF4BENCH_PEER_SILU) return up * gate / (1.0f + expf(-gate));
  const float inner = 0.79788456f * (gate + 0.044715f * gate * gate * gate);
  return 0.5f * up * gate * (1.0f + tanhf(inner));
}

/* A row, what both products make of it, and their sum over the slots of a token. */
static size_t slot_bytes(const nf4bench_peer_job* job) {
  return (size_t)(job->inputs + first_outputs(job) + job->columns + 2 * job->outputs) *
         sizeof(float);
}

static int multiply_by_slots(const nf4bench_peer_job* job, void* stream) {
  (void)stream;
  float* const row = job->workspace;
  float* const given = row + job->inputs;
  float* const between = given + first_outputs(job);
  float* const result = between + job->columns;
  float* const sums = result + job->outputs;
  const int64_t size = job->columns != 0 ? first_outputs(job) : job->outputs;
  const int32_t type = job->output_type;
  for (int64_t slot = 0; slot < job->tokens * job->top_k; ++slot) {
    const int64_t token = slot / job->top_k;
    const int64_t from = job->sums_slots != 0 && job->columns == 0 ? slot : token;
    const int64_t expert = job->ids[slot];
    const int is_one = expert >= 0 && expert < job->experts;
    if (is_one) {
      for (int64_t k = 0; k < job->inputs; ++k) {
        row[k] = load(job->input, from * job->inputs + k, type);
      }
      multiply_row(job, expert * size * job->inputs, size, job->inputs, row,
                   job->columns != 0 ? given : result);
    }
    if (is_one && job->columns != 0) {
      const int64_t second = job->experts * size * job->inputs;
      for (int64_t c = 0; c < job->columns; ++c) between[c] = activated(job, given, c);
      multiply_row(job, second + expert * job->outputs * job->columns, job->outputs, job->columns,
                   between, result);
    }
    for (int64_t n = 0; n < job->outputs; ++n) {
      if (job->sums_slots == 0) {
        store(job->output, slot * job->outputs + n, type, is_one ? result[n] : 0.0f);
        continue;
      }
      if (slot % job->top_k == 0) sums[n] = 0.0f;
      if (is_one) sums[n] += job->slot_weights[slot] * result[n];
      if ((slot + 1) % job->top_k == 0) store(job->output, token * job->outputs + n, type, sums[n]);
    }
  }
  return 0;
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
    {
        .summary = "a row of weights at a time, for all tokens",
        .operation = NF4BENCH_PEER_MATMUL,
        .device = NF4BENCH_PEER_CPU,
        .launches = 1,
        .workspace_bytes = row_bytes,
        .launch = multiply_by_rows,
    },
    {
        .summary = "slot by slot",
        .operation = NF4BENCH_PEER_EXPERTS,
        .device = NF4BENCH_PEER_CPU,
        .launches = 1,
        .flags = NF4BENCH_PEER_LAYERS,
        .workspace_bytes = slot_bytes,
        .launch = multiply_by_slots,
    },
};

const nf4bench_peer_table* nf4bench_peer_v2(void) {
  static const nf4bench_peer_table table = {
      .abi = NF4BENCH_PEER_ABI,
      .variant_bytes = sizeof(nf4bench_peer_variant),
      .variant_count = sizeof kVariants / sizeof kVariants[0],
      .table_bytes = sizeof(nf4bench_peer_table),
      .variants = kVariants,
  };
  return &table;
}
