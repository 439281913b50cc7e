#include "catalog.hpp"

#include "cpu/dequantize/variants.hpp"

namespace nf4bench::kernels {

const std::vector<Variant>& cpu_variants() {
  static const std::vector<Variant> variants = {cpu::reference(), cpu::multi_pass(), cpu::lut(),
                                                cpu::simd()};
  return variants;
}

}  // namespace nf4bench::kernels
