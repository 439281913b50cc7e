/* Prints what callers of nf4.h have compiled into them: versions, enumerators, structs. */

#include "nf4.h"

#include <stddef.h>
#include <stdio.h>

#define NUMBER(name) printf("%s %d\n", #name, (int)(name))
#define SIZE(type) printf("%s: %zu bytes\n", #type, sizeof(type))
#define MEMBER(type, name) \
  printf("  %s: %zu at %zu\n", #name, sizeof(((type*)0)->name), offsetof(type, name))

int main(void) {
  NUMBER(NF4_VERSION_MAJOR);
  NUMBER(NF4_OK);
  NUMBER(NF4_INVALID_ARGUMENT);
  NUMBER(NF4_UNSUPPORTED);
  NUMBER(NF4_MISALIGNED);
  NUMBER(NF4_WORKSPACE_TOO_SMALL);
  NUMBER(NF4_NO_DEVICE);
  NUMBER(NF4_LAUNCH_FAILED);
  NUMBER(NF4_FLOAT16);
  NUMBER(NF4_BFLOAT16);
  NUMBER(NF4_FLOAT32);
  NUMBER(NF4_CPU);
  NUMBER(NF4_CUDA);
  NUMBER(NF4_TOP_K);
  NUMBER(NF4_ENDS);
  NUMBER(NF4_SILU);
  NUMBER(NF4_GELU_TANH);
  NUMBER(NF4_GPTOSS);
  NUMBER(NF4_RELU2);
  SIZE(nf4_status);
  SIZE(nf4_type);
  SIZE(nf4_device_kind);
  SIZE(nf4_device);
  MEMBER(nf4_device, struct_bytes);
  MEMBER(nf4_device, kind);
  MEMBER(nf4_device, ordinal);
  MEMBER(nf4_device, compute_capability);
  MEMBER(nf4_device, multiprocessors);
  MEMBER(nf4_device, l2_bytes);
  SIZE(nf4_weight);
  MEMBER(nf4_weight, struct_bytes);
  MEMBER(nf4_weight, blocksize);
  MEMBER(nf4_weight, outputs);
  MEMBER(nf4_weight, inputs);
  MEMBER(nf4_weight, packed);
  MEMBER(nf4_weight, absmax);
  MEMBER(nf4_weight, absmax_codes);
  MEMBER(nf4_weight, nested_absmax);
  MEMBER(nf4_weight, nested_map);
  MEMBER(nf4_weight, nested_offset);
  SIZE(nf4_product);
  MEMBER(nf4_product, struct_bytes);
  MEMBER(nf4_product, type);
  MEMBER(nf4_product, tokens);
  MEMBER(nf4_product, input);
  MEMBER(nf4_product, bias);
  MEMBER(nf4_product, output);
  MEMBER(nf4_product, workspace);
  MEMBER(nf4_product, workspace_bytes);
  MEMBER(nf4_product, output_stride);
  SIZE(nf4_stack);
  MEMBER(nf4_stack, struct_bytes);
  MEMBER(nf4_stack, transposed);
  MEMBER(nf4_stack, experts);
  MEMBER(nf4_stack, weight);
  MEMBER(nf4_stack, bias);
  MEMBER(nf4_stack, offsets_per_expert);
  SIZE(nf4_routing);
  MEMBER(nf4_routing, struct_bytes);
  MEMBER(nf4_routing, kind);
  MEMBER(nf4_routing, id_bytes);
  MEMBER(nf4_routing, weight_type);
  MEMBER(nf4_routing, tokens);
  MEMBER(nf4_routing, top_k);
  MEMBER(nf4_routing, ids);
  MEMBER(nf4_routing, weights);
  MEMBER(nf4_routing, sums_slots);
  SIZE(nf4_experts_options);
  MEMBER(nf4_experts_options, struct_bytes);
  MEMBER(nf4_experts_options, activation);
  MEMBER(nf4_experts_options, gated);
  MEMBER(nf4_experts_options, interleaved);
  MEMBER(nf4_experts_options, alpha);
  MEMBER(nf4_experts_options, limit);
  return 0;
}
