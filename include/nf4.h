/* nf4.h: libnf4, NF4 weights as bitsandbytes writes them, decoded and multiplied with.
 *
 * A C library for C99, C++11 and CUDA. Every function may be called from any thread. None throws,
 * allocates device memory, waits for the device or keeps state between calls, so that calls can be
 * recorded into CUDA graphs. What a call enqueues is ordered by its stream alone.
 *
 *   nf4_device device = {.struct_bytes = sizeof device};
 *   nf4_query_device(NF4_CUDA, 0, &device);               // once
 *   nf4_weight weight = {.struct_bytes = sizeof weight, .blocksize = 64, .outputs = outputs,
 *                        .inputs = inputs, .packed = packed, .absmax = absmax};
 *   nf4_status status = nf4_dequantize(&device, &weight, NF4_BFLOAT16, decoded, stream);
 *   if (status != NF4_OK) fputs(nf4_error_string(status), stderr);
 */
#ifndef NF4_H
#define NF4_H

#include <stddef.h>
#include <stdint.h>

/* Of this header. Within a major version, functions and enumerators are only added and structs grow
 * only at their end: the first member of a struct says how large the caller's is. Members that the
 * library does not know yet must be zero, else it says NF4_UNSUPPORTED. */
#define NF4_VERSION_MAJOR 1
#define NF4_VERSION_MINOR 0

#if defined(_MSC_VER)
#define NF4_EXPORT
#else
#define NF4_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum nf4_status {
  NF4_OK = 0,
  NF4_INVALID_ARGUMENT = 1,    /* a null pointer, struct_bytes that were not set, a size, a
                                  stride, a blocksize or an enumerator that cannot be, or a CUDA
                                  device that is not current */
  NF4_UNSUPPORTED = 2,         /* a valid request that no kernel of this build and device can do */
  NF4_MISALIGNED = 3,          /* a buffer that does not start at a multiple of 16 bytes */
  NF4_WORKSPACE_TOO_SMALL = 4, /* ask the function that ends in _workspace */
  NF4_NO_DEVICE = 5,           /* no such device, or a driver that is too old */
  NF4_LAUNCH_FAILED = 6        /* CUDA refused a launch: the stream belongs to another device, a
                                  device that was described wrongly, or an earlier error; or the
                                  host has no memory left */
} nf4_status;

/* What a status means, and what to do. Never null; valid for ever. Enumerators are passed as
 * int32_t, so that any number may be. */
NF4_EXPORT const char* nf4_error_string(int32_t status);

/* The version of the library that is loaded: 10000 * major + 100 * minor + patch. */
NF4_EXPORT uint32_t nf4_version(void);

typedef enum nf4_type { NF4_FLOAT16 = 0, NF4_BFLOAT16 = 1, NF4_FLOAT32 = 2 } nf4_type;

/* NF4_CPU: pointers are host memory, the stream is null, and the work is done on return. */
typedef enum nf4_device_kind { NF4_CPU = 0, NF4_CUDA = 1 } nf4_device_kind;

/* The device that work runs on. Filled by nf4_query_device(); constant from then on. */
typedef struct nf4_device {
  uint32_t struct_bytes;      /* sizeof(nf4_device), set by the caller */
  int32_t kind;               /* an nf4_device_kind */
  int32_t ordinal;            /* CUDA: as cudaSetDevice takes it; CPU: 0 */
  int32_t compute_capability; /* CUDA: 10 * major + minor; CPU: 0 */
  int32_t multiprocessors;    /* CUDA: SMs; CPU: threads to use, which the caller may lower; more
                                 than the machine has processors are as many as these */
  int64_t l2_bytes;           /* last-level cache */
} nf4_device;

/* Fills *device, whose struct_bytes is set. Makes no device current. */
NF4_EXPORT nf4_status nf4_query_device(int32_t kind, int32_t ordinal, nf4_device* device);

/* A weight W[outputs, inputs], row by row, in blocks of `blocksize` elements that may reach from
 * one row into the next. Element i is the high half of packed[i / 2] for even i, else the low half.
 *
 *   scale of block b  plain: absmax[b]; nested, in float32 with two roundings:
 *                     nested_map[absmax_codes[b]] * nested_absmax[b / 256] + *nested_offset
 *   value             codebook[element] * scale in float32, rounded once to the type wanted
 *
 * All buffers are in memory of the device and start at a multiple of 16 bytes, the offset at one of
 * 4. Sizes may exceed 2^31. */
typedef struct nf4_weight {
  uint32_t struct_bytes;       /* sizeof(nf4_weight) */
  int32_t blocksize;           /* a power of two from 32 to 4096 */
  int64_t outputs;             /* N, from 1 */
  int64_t inputs;              /* K, from 1 */
  const uint8_t* packed;       /* (outputs * inputs + 1) / 2 bytes */
  const float* absmax;         /* plain: one for each block; nested: null */
  const uint8_t* absmax_codes; /* nested: one for each block; plain: null */
  const float* nested_absmax;  /* nested: one for each 256 blocks */
  const float* nested_map;     /* nested: 256 values */
  const float* nested_offset;  /* nested: one value */
} nf4_weight;

/* output = the decoded weight, outputs * inputs values of `type`, bit for bit as the formula says;
 * NaN becomes the canonical one, 0x7fff in 16 bits. Needs no workspace.
 *
 * CUDA: enqueued on `stream`, a cudaStream_t, of the device, which must be current. The device's
 * runtime may be any: `stream` belongs to the driver. */
NF4_EXPORT nf4_status nf4_dequantize(const nf4_device* device, const nf4_weight* weight,
                                     int32_t type, void* output, void* stream);

/* y = x W^T + bias: input[tokens, inputs], bias[outputs] and output[tokens, outputs] of one type,
 * 16-byte aligned; rows of the input without gaps. Sums in float32, in an order that depends on
 * sizes and device alone, rounded once. */
typedef struct nf4_product {
  uint32_t struct_bytes; /* sizeof(nf4_product) */
  int32_t type;          /* an nf4_type: of input, bias and output */
  int64_t tokens;        /* M, from 1 */
  const void* input;
  const void* bias; /* null: none */
  void* output;
  void* workspace;        /* 256-byte aligned device memory that nothing else uses meanwhile; its */
  size_t workspace_bytes; /* content does not matter. At least what nf4_linear_workspace() says */
  int64_t output_stride;  /* values from a row of the output to the next, at least `outputs`; what
                             lies between rows is not touched. 0: as many as outputs, as in a
                             struct that ends before this, and always in products with stacks */
} nf4_product;

/* Sets *bytes to what nf4_linear() needs for this weight, type and number of tokens: only sizes are
 * looked at, pointers may be null. NF4_UNSUPPORTED where nf4_linear() would say so. */
NF4_EXPORT nf4_status nf4_linear_workspace(const nf4_device* device, const nf4_weight* weight,
                                           const nf4_product* product, size_t* bytes);

/* As nf4_dequantize(), for the product. */
NF4_EXPORT nf4_status nf4_linear(const nf4_device* device, const nf4_weight* weight,
                                 const nf4_product* product, void* stream);

/* Up to how many tokens nf4_linear() is expected to be faster on this device than nf4_dequantize()
 * and a product of the platform's BLAS; 0: never, or not supported. More tokens are computed as
 * well, but whoever has a BLAS should use it then. Only sizes of the weight are looked at. */
NF4_EXPORT int64_t nf4_linear_most_tokens(const nf4_device* device, const nf4_weight* weight,
                                          int32_t type);

/* A stack of experts: `experts` matrices W[N, K], or transposed W'[K, N], one behind the other.
 * `weight` is the stack as one matrix: outputs = experts * N, inputs = K, or transposed outputs =
 * experts * K, inputs = N. Its blocks, and the groups of 256 of nested ones, are counted over the
 * whole stack and may reach from one expert into the next. */
typedef struct nf4_stack {
  uint32_t struct_bytes; /* sizeof(nf4_stack) */
  int32_t transposed;    /* 0 or 1 */
  int64_t experts;       /* from 1 */
  const nf4_weight* weight;
  const void* bias;           /* [experts, N] of the product's type; null: none */
  int32_t offsets_per_expert; /* 1: weight->nested_offset has a value for each expert, of which none
                                 shares a group of 256 blocks with another; else 0 */
  int32_t reserved;           /* 0 */
} nf4_stack;

/* NF4_TOP_K: ids[tokens, top_k] are the experts that each token chose, its slots. NF4_ENDS: rows
 * are sorted by expert, ids[experts] say behind which row those of each end; top_k is 1. Ends that
 * decrease or exceed the rows count as far as they can be. */
typedef enum nf4_routing_kind { NF4_TOP_K = 0, NF4_ENDS = 1 } nf4_routing_kind;

/* Which expert each slot has. Read on the device, so that one CUDA graph serves all routings of its
 * sizes. A slot whose id is below 0, or no expert's, contributes exactly zero, whatever its weight
 * and its row are; ids that a token has twice count twice. */
typedef struct nf4_routing {
  uint32_t struct_bytes; /* sizeof(nf4_routing) */
  int32_t kind;          /* an nf4_routing_kind */
  int32_t id_bytes;      /* 4 or 8, of signed integers */
  int32_t weight_type;   /* an nf4_type */
  int64_t tokens;        /* T, from 1 */
  int64_t top_k;         /* slots of a token, from 1 */
  const void* ids;
  const void* weights; /* [tokens, top_k], what slots are multiplied with; null: 1 */
  int32_t sums_slots; /* 1: the slots of a token are added up, in float32 and their order; else 0 */
  int32_t reserved;   /* 0 */
} nf4_routing;

/* The product of rows with the matrices that they chose:
 *
 *   slot s = t * top_k + j    weights[s] * (W[ids[s]] x + bias[ids[s]])
 *
 * x is row t of the input, or row s where product->tokens is tokens * top_k instead of tokens. The
 * output is [tokens * top_k, N], or with sums_slots [tokens, N].
 *
 * product->bias is null. The bits of a slot depend on sizes and device, its row, its expert and its
 * weight, not on other slots or their order. */
NF4_EXPORT nf4_status nf4_grouped_linear_workspace(const nf4_device* device, const nf4_stack* stack,
                                                   const nf4_routing* routing,
                                                   const nf4_product* product, size_t* bytes);
NF4_EXPORT nf4_status nf4_grouped_linear(const nf4_device* device, const nf4_stack* stack,
                                         const nf4_routing* routing, const nf4_product* product,
                                         void* stream);

/* What stands between the two products of an expert, of a gate g and an up u, in float32:
 *
 *   NF4_SILU       g / (1 + exp(-g)) * u
 *   NF4_GELU_TANH  g / 2 * (1 + tanh(sqrt(2 / pi) * (g + 0.044715 g^3))) * u
 *   NF4_GPTOSS     (u + 1) * g / (1 + exp(-alpha * g))
 *   NF4_RELU2      max(g, 0)^2 * u
 */
typedef enum nf4_activation {
  NF4_SILU = 0,
  NF4_GELU_TANH = 1,
  NF4_GPTOSS = 2,
  NF4_RELU2 = 3
} nf4_activation;

typedef struct nf4_experts_options {
  uint32_t struct_bytes; /* sizeof(nf4_experts_options) */
  int32_t activation;    /* an nf4_activation */
  int32_t gated;         /* 1: the first stack has 2 I outputs, gates and ups; 0: I, and u is 1 */
  int32_t interleaved;   /* 1: gates and ups in turns; 0: all gates, then all ups */
  float alpha;           /* of NF4_GPTOSS */
  float limit;           /* g is at most this, u between its negative and it; 0: no limits */
} nf4_experts_options;

/* A layer of experts: for each slot the product with its matrix of `up`, rounded to the type, the
 * activation, rounded, and the product with its matrix of `down`, whose inputs are I; slots of a
 * token are added up with the routing's weights into output[tokens, N of down]. routing->sums_slots
 * is 1, product->tokens those of the routing. All else as nf4_grouped_linear(). */
NF4_EXPORT nf4_status nf4_experts_workspace(const nf4_device* device, const nf4_stack* up,
                                            const nf4_stack* down, const nf4_routing* routing,
                                            const nf4_experts_options* options,
                                            const nf4_product* product, size_t* bytes);
NF4_EXPORT nf4_status nf4_experts(const nf4_device* device, const nf4_stack* up,
                                  const nf4_stack* down, const nf4_routing* routing,
                                  const nf4_experts_options* options, const nf4_product* product,
                                  void* stream);

#ifdef __cplusplus
}
#endif

#endif /* NF4_H */
