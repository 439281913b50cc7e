#include "bitsandbytes/decoders.hpp"
#include "nf4/arithmetic.hpp"

namespace nf4bench::bitsandbytes {
namespace {

constexpr DecoderNames kDecoders = {
    .absmax = "cdequantize_blockwise_cpu_fp32",
    .weight = {"cdequantize_blockwise_cpu_nf4_fp16", "cdequantize_blockwise_cpu_nf4_bf16",
               "cdequantize_blockwise_cpu_nf4_fp32"},
    .build = "a build with these functions, such as libbitsandbytes_cpu.so"};
constexpr const char* kMultiply = "gemv_4bit_inference_cpu_nf4_bf16";
constexpr const char* kHasBfloat16 = "has_avx512bf16_cpu";
constexpr const char* kHasAvx512 = "has_avx512f_cpu";

constexpr std::int64_t kInexactBlocksize = 2048;
constexpr std::int64_t kRows = 32;  // of the weight that its product takes together
constexpr std::size_t kAlignment = 256;

constexpr const char* kMirrors = "the library itself, called as its Python code calls it";

// Whether the library says so of this processor.
bool says(const SharedLibrary& library, const char* symbol) {
  const auto ask = reinterpret_cast<bool (*)()>(library.find(symbol));
  return ask != nullptr && ask();
}

std::size_t scales_bytes(const kernels::Problem& problem) {
  return problem.nested ? static_cast<std::size_t>(problem.blocks) * sizeof(float) : 0;
}

void decode_scales(const CpuLibrary& library, const kernels::Job& job, float* scales) {
  using Decode = void (*)(const float* map, const std::uint8_t* codes, const float* absmax,
                          float* out, long long blocksize, long long count);
  if (!job.nested) return;
  reinterpret_cast<Decode>(library.decode_absmax)(job.nested_map, job.absmax_codes,
                                                  job.nested_absmax, scales, nf4::kNestedBlocksize,
                                                  job.blocks);
  for (std::int64_t block = 0; block < job.blocks; ++block) scales[block] += *job.nested_offset;
}

void decode_weight(const CpuLibrary& library, const kernels::Job& job) {
  using Decode = void (*)(const std::uint8_t* packed, const float* absmax, void* out,
                          long long blocksize, long long rows, long long columns);
  const auto decode =
      reinterpret_cast<Decode>(library.decode_weight[static_cast<std::size_t>(job.output_type)]);
  decode(job.packed, scales_of(job), job.output, blocksize_of(job), job.outputs, job.inputs);
}

const char* why_not_decoded(const CpuLibrary& library, const kernels::Problem& problem) {
  if (problem.inputs % 2 != 0) return "rows of an odd length; bitsandbytes leaves them to PyTorch";
  if (library.has_avx512 && blocksize_of(problem) >= kInexactBlocksize) {
    return "blocks of 2048 and more; bitsandbytes leaves them to PyTorch";
  }
  return nullptr;
}

// What is prepared for a product: the weight, then the scales as its kernel wants them, then what
// the nested ones are decoded to.
struct Arranged {
  std::uint8_t* weight;
  std::uint16_t* scales;
  float* decoded;
};

std::size_t aligned(std::int64_t bytes) {
  return static_cast<std::size_t>(kernels::block_count(bytes, kAlignment)) * kAlignment;
}

Arranged parts_of(const kernels::Job& job) {
  auto* const weight = static_cast<std::uint8_t*>(job.prepared);
  std::uint8_t* const scales = weight + aligned(kernels::packed_bytes(job.elements));
  return {weight, reinterpret_cast<std::uint16_t*>(scales),
          reinterpret_cast<float*>(scales + aligned(2 * job.blocks))};
}

std::size_t arranged_bytes(const kernels::Problem& problem) {
  return aligned(kernels::packed_bytes(problem.elements)) + aligned(2 * problem.blocks) +
         scales_bytes(problem);
}

// Of 32 rows and two columns, a byte holds two codes that are 16 rows apart: those of rows 0 to 15
// in the low half, of rows 16 to 31 in the high half, column after column.
void arrange_weight(const kernels::Job& job, std::uint8_t* to) {
  const auto code = [&](std::int64_t row, std::int64_t column) {
    const std::int64_t element = row * job.inputs + column;
    const std::uint8_t pair = job.packed[element / 2];
    return element % 2 == 0 ? pair >> 4 : pair & 15;
  };
  for (std::int64_t first = 0; first < job.outputs; first += kRows) {
    for (std::int64_t column = 0; column < job.inputs; column += 2) {
      for (std::int64_t i = 0; i < kRows; ++i) {
        const std::int64_t row = first + i / 2;
        const std::int64_t of = column + i % 2;
        *to++ = static_cast<std::uint8_t>(code(row + kRows / 2, of) << 4 | code(row, of));
      }
    }
  }
}

// Block after block of all rows, rounded to bfloat16.
void arrange_scales(const kernels::Job& job, const float* scales, std::uint16_t* to) {
  const std::int64_t blocks = job.inputs / blocksize_of(job);
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t row = 0; row < job.outputs; ++row) {
      *to++ = nf4::to_bfloat16_bits(scales[row * blocks + block]);
    }
  }
}

void arrange(const CpuLibrary& library, const kernels::Job& job) {
  const Arranged parts = parts_of(job);
  decode_scales(library, job, parts.decoded);
  arrange_weight(job, parts.weight);
  arrange_scales(job, job.nested ? parts.decoded : job.absmax, parts.scales);
}

void multiply(const CpuLibrary& library, const kernels::Job& job) {
  using Multiply = void (*)(std::int64_t m, std::int64_t n, std::int64_t k, const void* x,
                            const std::uint8_t* weight, const std::uint16_t* scales, void* y,
                            std::int64_t blocksize, std::int64_t x_stride, std::int64_t y_stride);
  const Arranged parts = parts_of(job);
  reinterpret_cast<Multiply>(library.multiply)(job.tokens, job.outputs, job.inputs, job.input,
                                               parts.weight, parts.scales, job.output,
                                               blocksize_of(job), job.inputs, job.outputs);
}

const char* why_not_multiplied(const CpuLibrary& library, const kernels::Problem& problem) {
  if (library.multiply == nullptr) {
    return "no product in this build or for this processor (AVX512-BF16); bitsandbytes decodes "
           "and leaves it to PyTorch";
  }
  if (problem.output_type != kernels::OutputType::kBfloat16) {
    return "multiplies in bfloat16; bitsandbytes converts other types";
  }
  if (problem.outputs % kRows != 0) return "outputs are no multiple of 32";
  if (problem.inputs % blocksize_of(problem) != 0) return "rows are no whole blocks";
  return nullptr;
}

}  // namespace

bool is_cpu_library(const SharedLibrary& library) {
  return has_decoders(library, kDecoders);
}

CpuLibrary find_cpu_library(const SharedLibrary& library) {
  CpuLibrary found = {find_decoders(library, kDecoders)};
  if (says(library, kHasBfloat16)) found.multiply = library.find(kMultiply);
  found.has_avx512 = says(library, kHasAvx512);
  return found;
}

std::vector<kernels::Variant> cpu_variants(const CpuLibrary& library, const char* chain_name,
                                           const char* decode_name) {
  Decoding decoding;
  decoding.chain_summary = "three passes of bitsandbytes' library; plain absmax: one";
  decoding.decode_summary = "its last pass alone, on scales decoded before";
  decoding.scales = [library](const kernels::Job& job, const kernels::Launch&) {
    decode_scales(library, job, static_cast<float*>(job.workspace));
  };
  decoding.weight = [library](const kernels::Job& job, const kernels::Launch&) {
    decode_weight(library, job);
  };
  decoding.all.traits.mirrors = kMirrors;
  decoding.all.unsupported = [library](const kernels::Problem& problem,
                                       const kernels::DeviceFacts&) {
    return why_not_decoded(library, problem);
  };
  decoding.all.workspace_bytes = [](const kernels::Problem& problem, const kernels::Launch&) {
    return scales_bytes(problem);
  };
  return decoding_variants(decoding, chain_name, decode_name);
}

std::vector<kernels::Variant> cpu_products(const CpuLibrary& library, const char* name) {
  kernels::Variant variant;
  variant.name = name;
  variant.summary = "bitsandbytes' product, on weights arranged for it before";
  variant.traits.mirrors = kMirrors;
  variant.unsupported = [library](const kernels::Problem& problem, const kernels::DeviceFacts&) {
    return why_not_multiplied(library, problem);
  };
  variant.prepared_bytes = arranged_bytes;
  variant.prepare = [library](const kernels::Job& job, const kernels::Launch&) {
    arrange(library, job);
  };
  variant.launch = [library](const kernels::Job& job, const kernels::Launch&) {
    multiply(library, job);
  };
  return {variant};
}

}  // namespace nf4bench::bitsandbytes
