// On all cores: a thread decodes some outputs' weights of an expert, a stretch of inputs at a time,
// and multiplies them with all rows that chose it.

#include "cpu/experts/grouped_product.hpp"
#include "cpu/experts/variants.hpp"

namespace nf4bench::kernels::cpu {
namespace {

// Weights of a tile, one output after the other.
template <OutputType kType>
void decode_tile(const Job& job, std::int64_t expert, Range outputs, Range inputs, float* weights) {
  std::int64_t block = -1;
  float values[kCodes] = {};
  const auto decode = [&](std::int64_t n, std::int64_t k) {
    const std::int64_t element = element_of(job, expert, n, k);
    if (element >> job.block_shift != block) {
      block = element >> job.block_shift;
      const float scale = expert_scale(job, expert, block);
      for (int code = 0; code < kCodes; ++code) {
        values[code] = from_output_bits<kType>(
            to_output_bits<kType>(nf4::multiply_flushed(kCodebook[code], scale)));
      }
    }
    const int pair = job.packed[element / 2];
    weights[(n - outputs.first) * kTileInputs + k - inputs.first] =
        values[element % 2 == 0 ? pair / 16 : pair % 16];
  };
  if (job.transposed) {
    for (std::int64_t k = inputs.first; k < inputs.last; ++k) {
      for (std::int64_t n = outputs.first; n < outputs.last; ++n) decode(n, k);
    }
  } else {
    for (std::int64_t n = outputs.first; n < outputs.last; ++n) {
      for (std::int64_t k = inputs.first; k < inputs.last; ++k) decode(n, k);
    }
  }
}

template <OutputType kType>
void multiply(const Job& job, const Launch& launch) {
  multiply_grouped<kType>(job, launch,
                          [&](std::int64_t expert, Range outputs, Range inputs, float* weights) {
                            decode_tile<kType>(job, expert, outputs, inputs, weights);
                          });
}

}  // namespace

void activate_rows(const Activation& of, const Launch& launch) {
  with_type(of.type, [&](auto type) {
    constexpr OutputType kType = decltype(type)::value;
    auto* const output = static_cast<OutputBits<kType>*>(of.output);
    for_each_part(launch, {of.rows, of.columns}, [&](Range rows) {
      for (std::int64_t i = rows.first * of.columns; i < rows.last * of.columns; ++i) {
        const std::int64_t at = gate_at(of, i);
        const float up = of.gated ? value_at<kType>(of.input, at + up_step(of)) : 1.0f;
        output[i] = to_output_bits<kType>(activate(of, value_at<kType>(of.input, at), up));
      }
    });
  });
}

Variant experts_grouped() {
  Variant variant;
  variant.name = "grouped";
  variant.summary = "fused, on all cores; weights are decoded once for the rows that chose them";
  variant.traits.launches = 4;
  variant.traits.mirrors = "grouped products";
  variant.workspace_bytes = [](const Problem& problem, const Launch&) {
    return static_cast<std::size_t>(GroupedWorkspace(problem).bytes);
  };
  variant.launch = [](const Job& job, const Launch& launch) {
    with_type(job.output_type, [&](auto type) { multiply<decltype(type)::value>(job, launch); });
  };
  return variant;
}

}  // namespace nf4bench::kernels::cpu
