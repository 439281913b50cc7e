/* nf4bench_peer.h: how a shared library offers its own kernels to nf4bench.
 *
 * A library exports one function, nf4bench_peer_v2(), that returns a table of variants. Loaded with
 *   nf4bench run ... --peer NAME=./libmine.so
 * they are verified and timed beside the built-in ones. docs/peers.md is the guide;
 * docs/examples/peer/ holds complete libraries for the CPU and for CUDA.
 *
 * For C99, C++11 and CUDA. Everything here is plain C: no exception may leave a function, and a
 * library may be built with any compiler and any CUDA toolkit. */
#ifndef NF4BENCH_PEER_H
#define NF4BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header, and of the table that nf4bench_peer_v2() returns. Without a new
 * version structs may only grow at their end: a member says how large they are. */
#define NF4BENCH_PEER_ABI 2u

#if defined(_MSC_VER)
#define NF4BENCH_PEER_EXPORT __declspec(dllexport)
#else
#define NF4BENCH_PEER_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a variant computes. */
enum {
  NF4BENCH_PEER_DEQUANTIZE = 0, /* the decoded weight, bit for bit */
  NF4BENCH_PEER_MATMUL = 1,     /* y = x W^T with the decoded weight W */
  NF4BENCH_PEER_EXPERTS = 2,    /* the same with those matrices of a stack that rows chose */
  NF4BENCH_PEER_BACKWARD = 3    /* dx = dy W: the gradient of a product with respect to x */
};

/* What stands between the products of a layer of experts. */
enum {
  NF4BENCH_PEER_SILU = 0,
  NF4BENCH_PEER_GELU_TANH = 1,
  NF4BENCH_PEER_GPTOSS = 2,
  NF4BENCH_PEER_RELU2 = 3
};

/* Where it runs. */
enum {
  NF4BENCH_PEER_CPU = 0, /* host pointers, stream NULL, done when launch() returns */
  NF4BENCH_PEER_CUDA = 1 /* device pointers, work enqueued on a cudaStream_t */
};

/* The type of the output's elements, and of the input's. */
enum { NF4BENCH_PEER_FLOAT16 = 0, NF4BENCH_PEER_BFLOAT16 = 1, NF4BENCH_PEER_FLOAT32 = 2 };

/* Flags of a variant. */
enum {
  /* launch() does what a CUDA graph cannot record (it synchronises, allocates, or uses another
   * stream). Such a variant is timed by --launch stream alone. */
  NF4BENCH_PEER_NOT_CAPTURABLE = 1,
  /* What its kernels use, for reports. */
  NF4BENCH_PEER_INLINE_PTX = 2,
  NF4BENCH_PEER_CACHE_HINTS = 4, /* cache operators or eviction policies of loads and stores */
  /* EXPERTS: launch() does whole layers, too, which others are not asked for. One that does nothing
   * else declines jobs whose `columns` are 0. */
  NF4BENCH_PEER_LAYERS = 8
};

/* One weight, and what is to be done with it. nf4bench owns every buffer. Inputs are read only. All
 * buffers start at a multiple of 256 bytes and end with their last byte: the memory behind it is
 * not theirs. The weight is a matrix W[outputs, inputs], row by row; a block may reach from one row
 * into the next.
 *
 *   scale of block b     absmax[b], or when nested, in float32 and with two roundings (no fma):
 *                        nested_map[absmax_codes[b]] * nested_absmax[b / 256] + nested_offset
 *   value of element i   codebook[nibble i] * scale of block (i >> block_shift) in float32, rounded
 *                        once to the output type; NaN as 0x7fff in 16 bits
 *   every product        subnormal factors and results are zeros of their sign (mul.ftz)
 *   sign                 scales may be negative
 *   nibble i             the high half of packed[i / 2] for even i, the low half for odd i
 *
 * NF4BENCH_PEER_MATMUL: output[m * outputs + n] is the sum over k of input[m * inputs + k] times
 * W[n, k], the weight as it would be decoded to the output type. Sums in float32 or better, in any
 * order, rounded once. docs/method.md says how much an output may be off.
 *
 * NF4BENCH_PEER_BACKWARD: the weight is W[inputs, outputs], whose rows are the outputs of its
 * layer, and output[m * outputs + n] is the sum over k of input[m * inputs + k] times W[k, n].
 *
 * NF4BENCH_PEER_EXPERTS: the weight is a stack W[experts, outputs, inputs]. Token t has `top_k`
 * slots, s = t * top_k to t * top_k + top_k - 1; ids[s] is the expert of slot s, and none when it
 * is below 0 or not below `experts`: such a slot is zero, whatever its row and weight hold. With
 * sums_slots 0, output[s * outputs + n] is the sum over k of input[t * inputs + k] times
 * W[ids[s], n, k]. With sums_slots 1, output[t * outputs + n] is the sum over the slots of t of
 * slot_weights[s] times the sum over k of input[s * inputs + k] times W[ids[s], n, k].
 *
 * A whole layer, when `columns` is not 0: the weight is a stack W[experts, R * columns, inputs] and
 * behind it a stack V[experts, outputs, columns], which begins with a block, and when nested with a
 * group of 256 of them. output[t * outputs + n] is the sum over the slots of t of slot_weights[s]
 * times the sum over c of h[s, c] times V[ids[s], n, c]. With g[r] for the sum over k of
 * input[t * inputs + k] times W[ids[s], r, k], and C for `columns`, h[s, c], which may be rounded
 * to the type, is
 *   SILU, R = 2          u * g / (1 + exp(-g))                     of g = g[c], u = g[C + c]
 *   GELU_TANH, R = 2     u * g * (1 + tanh(p)) / 2                 of the same, with
 *                        p = sqrt(2 / pi) * (g + 0.044715 * g^3)
 *   GPTOSS, R = 2        (u + 1) * g / (1 + exp(-1.702 * g))       of g = min(g[2 c], 7) and
 *                                                                  u = g[2 c + 1] within -7 and 7
 *   RELU2, R = 1         max(g[c], 0)^2 */
typedef struct nf4bench_peer_job {
  uint32_t struct_bytes;       /* sizeof(nf4bench_peer_job) of the nf4bench that calls */
  int32_t output_type;         /* NF4BENCH_PEER_FLOAT16, _BFLOAT16 or _FLOAT32 */
  const uint8_t* packed;       /* (elements + 1) / 2 bytes */
  const float* absmax;         /* plain: `blocks` scales; nested: NULL */
  const uint8_t* absmax_codes; /* nested: `blocks` codes; plain: NULL */
  const float* nested_absmax;  /* nested: one for each 256 blocks; plain: NULL */
  const float* nested_map;     /* nested: 256 values; plain: NULL */
  float nested_offset;         /* nested */
  int32_t block_shift;         /* log2 of the blocksize: 5 to 12 */
  int64_t elements;            /* any count from 1, beyond 2^31 as well; of a whole stack */
  int64_t blocks;              /* elements divided by the blocksize, rounded up */
  void* output;                /* DEQUANTIZE: `elements` values; else as said above */
  void* workspace;             /* what workspace_bytes() asked for, contents undefined; or NULL */
  int32_t operation;           /* that of the variant: NF4BENCH_PEER_DEQUANTIZE, ... */
  int32_t nested;              /* 1: nested scales, 0: plain ones */
  int64_t outputs;             /* N, rows of the weight, or of each matrix of a stack */
  int64_t inputs;              /* K, its columns; elements is outputs * inputs */
  int64_t tokens;              /* M, from 1; DEQUANTIZE: 0 */
  const void* input; /* MATMUL: tokens * inputs values of the output type; DEQUANTIZE: NULL */
  const float* nested_offset_at; /* nested: where memory holds nested_offset too; plain: NULL */
  /* What follows is there when struct_bytes says so, and 0 or NULL but for EXPERTS. */
  int64_t experts;           /* E, matrices of the stack */
  int64_t top_k;             /* slots of a token */
  const int64_t* ids;        /* tokens * top_k */
  const float* slot_weights; /* sums_slots 1: tokens * top_k; 0: NULL */
  int32_t sums_slots;        /* 1: input has a row for each slot, but of a layer one for each
                                token, and output one for each token */
  int32_t activation;        /* of a layer: NF4BENCH_PEER_SILU, ... */
  int64_t columns;           /* of a layer: what is activated for a slot; 0: one product */
} nf4bench_peer_job;

/* The device it is to run on. */
typedef struct nf4bench_peer_device {
  uint32_t struct_bytes;
  int32_t kind;               /* NF4BENCH_PEER_CPU or NF4BENCH_PEER_CUDA */
  int32_t compute_capability; /* CUDA: 10 * major + minor, 90 for sm_90 */
  int32_t multiprocessors;    /* CUDA: SMs; CPU: threads that a variant should use */
  int64_t l2_bytes;           /* last-level cache */
} nf4bench_peer_device;

/* One implementation. The library owns it and its strings for as long as the process lives. */
typedef struct nf4bench_peer_variant {
  /* Letters, digits, '_' and '-'. Shown as "NAME.name", NAME being the word before '=' in --peer;
   * NULL or "" gives just NAME. Entries for different operations or devices may share a name. */
  const char* name;
  const char* summary; /* one line: the idea; may be NULL */
  int32_t operation;   /* NF4BENCH_PEER_DEQUANTIZE, ...: one entry for each */
  int32_t device;      /* NF4BENCH_PEER_CPU or NF4BENCH_PEER_CUDA */
  int32_t launches;    /* kernels, or passes over the data, per call; 0: not known */
  uint32_t flags;      /* a sum of NF4BENCH_PEER_NOT_CAPTURABLE, ..., or 0 */

  /* Returns NULL when the variant can do `job` on `device`, else the reason, as a string that stays
   * valid. Buffers in `job` are NULL here. The pointer itself may be NULL: the variant can do every
   * job of its operation. */
  const char* (*unsupported)(const nf4bench_peer_job* job, const nf4bench_peer_device* device);

  /* Bytes of scratch memory that launch() needs, the same for jobs of the same shape. Its content
   * is lost between calls. The pointer may be NULL: launch() needs none. */
  size_t (*workspace_bytes)(const nf4bench_peer_job* job);

  /* Does `job`. CUDA: enqueues the work on `stream`, a cudaStream_t that does not wait for the
   * default stream, on the device that is current for the calling thread, and returns without
   * waiting. CPU: `stream` is NULL and the output is complete on return. `job` itself is gone after
   * the call. Returns 0, or another number for an error, which the variant's failed row then shows,
   * or what the table's error_text() says.
   * A CUDA library returns cudaGetLastError(), because nf4bench cannot ask another runtime. */
  int (*launch)(const nf4bench_peer_job* job, void* stream);
} nf4bench_peer_variant;

/* What the exported function returns; owned by the library for as long as the process lives. */
typedef struct nf4bench_peer_table {
  uint32_t abi;           /* NF4BENCH_PEER_ABI */
  uint32_t variant_bytes; /* sizeof(nf4bench_peer_variant) */
  uint32_t variant_count;
  uint32_t table_bytes; /* sizeof(nf4bench_peer_table) */
  const nf4bench_peer_variant* variants;
  /* From here on a table may end before; table_bytes says so. */

  /* What was wrong, in one line, when the last launch() of this thread returned an error; a string
   * that stays valid until the next call. The pointer may be NULL: the number is all there is. */
  const char* (*error_text)(void);
} nf4bench_peer_table;

/* The one function that a peer exports. Called once or more, from one thread. */
#ifndef __CUDACC_RTC__ /* which knows no host code */
NF4BENCH_PEER_EXPORT const nf4bench_peer_table* nf4bench_peer_v2(void);
#endif

#ifdef __cplusplus
}
#endif

#endif /* NF4BENCH_PEER_H */
