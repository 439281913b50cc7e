#pragma once

#include "device/memory.hpp"
#include "nf4/format.hpp"

#include <functional>
#include <map>

struct CUstream_st;

namespace nf4bench::device {

// What a large matrix product is measured with.
struct ProductBench {
  Memory& memory;
  std::byte* inputs = nullptr;  // both of `bytes` bytes, 64 MiB or more
  std::byte* output = nullptr;
  std::int64_t bytes = 0;
  CUstream_st* stream = nullptr;
  std::function<double(const std::function<void()>& work)> time;  // seconds of enqueued work
};

// Flops a second of a large product by cuBLAS, for each type that it can multiply here. Its inputs
// are random: what a multiplier draws, and so its clock, depends on the data.
std::map<nf4::OutputType, double> measure_product_rates(const ProductBench& bench);

}  // namespace nf4bench::device
