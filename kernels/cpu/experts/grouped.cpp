// On all cores: a thread decodes some outputs' weights of an expert, a stretch of inputs at a time,
// and multiplies them with all rows that chose it.

#include "cpu/experts/routed_slots.hpp"
#include "cpu/experts/variants.hpp"

#include <algorithm>
#include <cstddef>

namespace nf4bench::kernels::cpu {
namespace {

constexpr std::int64_t kTileOutputs = 16;
constexpr std::int64_t kTileInputs = 256;
constexpr std::int64_t kTileSlots = 64;
constexpr int kLanes = 8;  // sums of an output, added up at the end

// The workspace, in bytes from its start.
struct Workspace {
  std::int64_t begins = 0;  // of each expert's slots in `order`, and the end of the last one's
  std::int64_t order;
  std::int64_t inputs;  // rows of x in float32
  std::int64_t sums;    // what slots contribute, where they are added up
  std::int64_t bytes;

  explicit Workspace(const Problem& problem)
      : order((problem.group.experts + 1) * 8),
        inputs(order + slots_of(problem) * 8),
        sums(inputs + rows(problem) * problem.inputs * 4),
        bytes(sums + (problem.group.sums_slots ? slots_of(problem) * problem.outputs * 4 : 0)) {}

  static std::int64_t rows(const Problem& problem) {
    return problem.group.slots_have_rows ? slots_of(problem) : problem.tokens;
  }
};

struct Routed {
  std::int64_t* begins;
  std::int64_t* order;
  float* inputs;
  float* sums;

  explicit Routed(const Job& job) {
    const Workspace parts(job);
    auto* const first = static_cast<std::byte*>(job.workspace);
    begins = reinterpret_cast<std::int64_t*>(first);
    order = reinterpret_cast<std::int64_t*>(first + parts.order);
    inputs = reinterpret_cast<float*>(first + parts.inputs);
    sums = reinterpret_cast<float*>(first + parts.sums);
  }
};

// Sorts slots by expert, in their order.
void route(const Job& job, const Routed& routed) {
  const std::int64_t experts = job.group.experts;
  std::fill_n(routed.begins, experts + 1, 0);
  for (std::int64_t slot = 0; slot < slots_of(job); ++slot) {
    const int expert = expert_of(job, slot);
    if (expert >= 0) ++routed.begins[expert + 1];
  }
  for (std::int64_t e = 0; e < experts; ++e) routed.begins[e + 1] += routed.begins[e];
  for (std::int64_t slot = 0; slot < slots_of(job); ++slot) {
    const int expert = expert_of(job, slot);
    if (expert >= 0) routed.order[routed.begins[expert]++] = slot;
  }
  // Each has moved on to where the next one begins.
  for (std::int64_t e = experts; e > 0; --e) routed.begins[e] = routed.begins[e - 1];
  routed.begins[0] = 0;
}

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
  if (job.group.transposed) {
    for (std::int64_t k = inputs.first; k < inputs.last; ++k) {
      for (std::int64_t n = outputs.first; n < outputs.last; ++n) decode(n, k);
    }
  } else {
    for (std::int64_t n = outputs.first; n < outputs.last; ++n) {
      for (std::int64_t k = inputs.first; k < inputs.last; ++k) decode(n, k);
    }
  }
}

// Adds products of `count` weights and inputs to an output's sums.
void add_products(const float* weights, const float* inputs, std::int64_t count, float* sums) {
  std::int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += weights[k + lane] * inputs[k + lane];
  }
  for (int lane = 0; k + lane < count; ++lane) sums[lane] += weights[k + lane] * inputs[k + lane];
}

template <OutputType kType>
void finish_slot(const Job& job, const Routed& routed, std::int64_t slot, std::int64_t expert,
                 std::int64_t n, const float* lanes) {
  float sum = 0.0f;
  for (int lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  const float value = weigh_slot<kType>(job, slot, expert, n, sum);
  const std::int64_t at = slot * job.outputs + n;
  if (job.group.sums_slots) {
    routed.sums[at] = value;
  } else {
    static_cast<OutputBits<kType>*>(job.output)[at] = to_output_bits<kType>(value);
  }
}

template <OutputType kType>
void multiply_tile(const Job& job, const Routed& routed, std::int64_t expert, Range outputs) {
  const std::int64_t end = routed.begins[expert + 1];
  for (std::int64_t first = routed.begins[expert]; first < end; first += kTileSlots) {
    const std::int64_t slots = std::min(kTileSlots, end - first);
    float weights[kTileOutputs * kTileInputs];
    float sums[kTileSlots][kTileOutputs][kLanes] = {};
    for (std::int64_t k = 0; k < job.inputs; k += kTileInputs) {
      const Range inputs = {k, std::min(k + kTileInputs, job.inputs)};
      decode_tile<kType>(job, expert, outputs, inputs, weights);
      for (std::int64_t i = 0; i < slots; ++i) {
        const std::int64_t row = input_row(job, routed.order[first + i]);
        for (std::int64_t n = 0; n < outputs.last - outputs.first; ++n) {
          add_products(weights + n * kTileInputs, routed.inputs + row * job.inputs + k,
                       inputs.last - inputs.first, sums[i][n]);
        }
      }
    }
    for (std::int64_t i = 0; i < slots; ++i) {
      for (std::int64_t n = outputs.first; n < outputs.last; ++n) {
        finish_slot<kType>(job, routed, routed.order[first + i], expert, n,
                           sums[i][n - outputs.first]);
      }
    }
  }
}

// Outputs of rows that no expert has written: those without one, and sums of slots.
template <OutputType kType>
void write_rest(const Job& job, const Routed& routed, Range rows) {
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  const std::int64_t added = job.group.top_k;
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    if (!job.group.sums_slots) {
      if (expert_of(job, row) < 0) std::fill_n(output + row * job.outputs, job.outputs, 0);
      continue;
    }
    for (std::int64_t n = 0; n < job.outputs; ++n) {
      float sum = 0.0f;
      for (std::int64_t i = row * added; i < (row + 1) * added; ++i) {
        if (expert_of(job, i) >= 0) sum += routed.sums[i * job.outputs + n];
      }
      output[row * job.outputs + n] = to_output_bits<kType>(sum);
    }
  }
}

template <OutputType kType>
void multiply(const Job& job, const Launch& launch) {
  const Routed routed(job);
  route(job, routed);
  for_each_part(launch, {Workspace::rows(job), job.inputs}, [&](Range rows) {
    for (std::int64_t i = rows.first * job.inputs; i < rows.last * job.inputs; ++i) {
      routed.inputs[i] = value_at<kType>(job.input, i);
    }
  });
  const std::int64_t tiles = block_count(job.outputs, kTileOutputs);
  const auto tile = [&](std::int64_t part) {
    const std::int64_t n = part % tiles * kTileOutputs;
    multiply_tile<kType>(job, routed, part / tiles, {n, std::min(n + kTileOutputs, job.outputs)});
  };
  run_parts(launch.device.multiprocessors, job.group.experts * tiles, std::ref(tile));
  const std::int64_t rows = job.group.sums_slots ? job.tokens : slots_of(job);
  for_each_part(launch, {rows, job.outputs},
                [&](Range part) { write_rest<kType>(job, routed, part); });
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
    return static_cast<std::size_t>(Workspace(problem).bytes);
  };
  variant.launch = [](const Job& job, const Launch& launch) {
    with_type(job.output_type, [&](auto type) { multiply<decltype(type)::value>(job, launch); });
  };
  return variant;
}

}  // namespace nf4bench::kernels::cpu
