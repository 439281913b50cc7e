/* Decodes a weight on the CPU, in C99. Prints its first values and the version of the library. */

#include <nf4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the buffers, at least. */
#define ALIGNMENT 16

static void* aligned(void* memory) {
  const uintptr_t at = (uintptr_t)memory;
  return (void*)((at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

int main(void) {
  static unsigned char packed_memory[16 + ALIGNMENT];
  static unsigned char absmax_memory[4 + ALIGNMENT];
  static unsigned char output_memory[32 * 4 + ALIGNMENT];
  uint8_t* packed = aligned(packed_memory);
  float* absmax = aligned(absmax_memory);
  float* output = aligned(output_memory);
  nf4_device device = {.struct_bytes = sizeof device};
  nf4_weight weight = {.struct_bytes = sizeof weight, .blocksize = 32, .outputs = 2, .inputs = 16};
  nf4_status status = nf4_query_device(NF4_CPU, 0, &device);
  packed[0] = 0xf0; /* 1 and -1 times the scale */
  absmax[0] = 2.5f;
  weight.packed = packed;
  weight.absmax = absmax;
  if (status == NF4_OK) status = nf4_dequantize(&device, &weight, NF4_FLOAT32, output, NULL);
  if (status != NF4_OK) {
    fprintf(stderr, "%s\n", nf4_error_string(status));
    return 1;
  }
  printf("%g %g %u\n", output[0], output[1], nf4_version());
  return 0;
}
