// The program of one target. It is compiled once for each target, whose number is
// NF4BENCH_FUZZ_TARGET.

#include "fuzz/targets.hpp"

#include <cstddef>
#include <cstdint>

using nf4bench::fuzz::kTargets;

extern "C" {

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                                                  std::size_t size) {
  kTargets[NF4BENCH_FUZZ_TARGET].run(std::as_bytes(std::span(data, size)));
  return 0;
}

__attribute__((visibility("default"))) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                                                           std::size_t size,
                                                                           std::size_t max_size,
                                                                           unsigned seed) {
  return kTargets[NF4BENCH_FUZZ_TARGET].mutate(data, size, max_size, seed, LLVMFuzzerMutate);
}

}  // extern "C"
