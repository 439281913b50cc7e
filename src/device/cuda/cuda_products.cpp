#include "device/cuda/cuda_products.hpp"

#include "cuda/matmul/cublas.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace nf4bench::device {
namespace {

// Three matrices of this many rows and columns in 16 bits: two inputs, and an output beside what
// cuBLAS works with.
constexpr std::int64_t kLarge = 8192;
constexpr std::int64_t kSmall = 4096;
constexpr std::int64_t kWordBytes = 2;

constexpr std::int64_t matrix_bytes(std::int64_t size) {
  return size * size * kWordBytes;
}

// Numbers from 1 to 2 and their negatives.
std::vector<std::uint16_t> random_words(nf4::OutputType type) {
  constexpr std::size_t kWords = std::size_t{1} << 19;
  const bool is_float16 = type == nf4::OutputType::kFloat16;
  const unsigned one = is_float16 ? 0x3c00 : 0x3f80;
  const unsigned fraction = is_float16 ? 0x83ff : 0x807f;  // and sign
  std::mt19937 random(42);
  std::vector<std::uint16_t> words(kWords);
  for (std::uint16_t& word : words) word = static_cast<std::uint16_t>(one | (random() & fraction));
  return words;
}

void fill_inputs(const ProductBench& bench, nf4::OutputType type, std::int64_t bytes) {
  const std::vector<std::uint16_t> words = random_words(type);
  const auto piece = static_cast<std::int64_t>(words.size()) * kWordBytes;
  bench.memory.copy_in(bench.inputs, std::as_bytes(std::span(words)));
  for (std::int64_t done = piece; done < bytes; done += piece) {
    bench.memory.copy_within(bench.inputs + done, bench.inputs, std::min(piece, bytes - done));
  }
}

// Whether the product was written over the poison.
bool was_written(const ProductBench& bench) {
  std::uint16_t first = 0;
  bench.memory.copy_out(std::as_writable_bytes(std::span(&first, 1)), bench.output);
  std::uint16_t poison = 0;
  std::memset(&poison, kPoisonByte, sizeof(poison));
  return first != poison;
}

std::optional<double> rate_of(const ProductBench& bench, nf4::OutputType type) {
  const std::int64_t size = bench.bytes >= 2 * matrix_bytes(kLarge) ? kLarge : kSmall;
  const std::int64_t matrix = matrix_bytes(size);
  kernels::Job job;
  job.tokens = job.outputs = job.inputs = size;
  job.elements = size * size;
  job.output_type = type;
  job.input = bench.inputs + matrix;
  job.output = bench.output;
  const auto workspace = static_cast<std::int64_t>(kernels::cuda::kCublasWorkspace);
  if (bench.bytes < std::max(2 * matrix, matrix + workspace)) return std::nullopt;
  if (kernels::cuda::cublas_unsupported(job) != nullptr) return std::nullopt;
  fill_inputs(bench, type, 2 * matrix);
  bench.memory.fill(bench.output, kPoisonByte, matrix);
  const double seconds = bench.time([&] {
    kernels::cuda::multiply_by_cublas(job, bench.inputs, bench.output + matrix, bench.stream);
  });
  if (!was_written(bench) || seconds <= 0.0) return std::nullopt;
  return 2.0 * static_cast<double>(size) * static_cast<double>(job.elements) / seconds;
}

}  // namespace

std::map<nf4::OutputType, double> measure_product_rates(const ProductBench& bench) {
  std::map<nf4::OutputType, double> rates;
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    if (const std::optional<double> rate = rate_of(bench, type)) rates[type] = *rate;
  }
  return rates;
}

}  // namespace nf4bench::device
