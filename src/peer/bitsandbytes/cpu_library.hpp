#pragma once

#include "peer/bitsandbytes/decoders.hpp"
#include "variant.hpp"

#include <vector>

namespace nf4bench::peer {

// The functions of libbitsandbytes for the CPU.
struct BitsandbytesCpu : Decoders {
  // Products with weights that were arranged for it; null in builds or on processors without
  // bfloat16 instructions.
  void* multiply = nullptr;
  bool has_avx512 = false;  // with which long blocks are decoded inexactly
};

// True when `library` exports any function that dequantizes on the CPU.
bool is_bitsandbytes_cpu(const SharedLibrary& library);

// Throws Error(kInput) naming the functions for dequantizing that are missing.
BitsandbytesCpu find_bitsandbytes_cpu(const SharedLibrary& library);

// `chain_name`: the decoding of the scales, the addition of the offset, the decoding of the weight,
// as its Python code calls them. `decode_name`: the last step alone. The names are borrowed.
std::vector<kernels::Variant> bitsandbytes_cpu_variants(const BitsandbytesCpu& library,
                                                        const char* chain_name,
                                                        const char* decode_name);

// `name`: its matrix product, on weights and scales that are arranged for it beforehand, as its
// Linear4bit does once.
std::vector<kernels::Variant> bitsandbytes_cpu_products(const BitsandbytesCpu& library,
                                                        const char* name);

}  // namespace nf4bench::peer
