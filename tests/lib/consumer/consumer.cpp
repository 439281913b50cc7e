// Decodes a weight on the CPU, in C++11. Prints its first values and the version of the library.

#include <cstdint>
#include <cstdio>
#include <nf4.h>

int main() {
  alignas(16) static const std::uint8_t packed[16] = {0xf0};  // 1 and -1 times the scale
  alignas(16) static const float absmax[1] = {2.5f};
  alignas(16) static float output[32];
  nf4_device device = {};
  device.struct_bytes = sizeof(device);
  nf4_weight weight = {};
  weight.struct_bytes = sizeof(weight);
  weight.blocksize = 32;
  weight.outputs = 2;
  weight.inputs = 16;
  weight.packed = packed;
  weight.absmax = absmax;
  nf4_status status = nf4_query_device(NF4_CPU, 0, &device);
  if (status == NF4_OK) status = nf4_dequantize(&device, &weight, NF4_FLOAT32, output, nullptr);
  if (status != NF4_OK) {
    std::fprintf(stderr, "%s\n", nf4_error_string(status));
    return 1;
  }
  std::printf("%g %g %u\n", static_cast<double>(output[0]), static_cast<double>(output[1]),
              nf4_version());
  return 0;
}
