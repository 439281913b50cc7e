#pragma once

// What stands between the two products of an expert. C++17, for the host and for devices.

#include "problem.hpp"

#include <cmath>
#include <cstdint>

namespace nf4bench::kernels {

// Rows of `columns` outputs, each of one input, or where `gated` of a gate and an up: all gates of
// a row and then all ups, or in turns.
struct Activation {
  ActivationKind kind = ActivationKind::kSilu;
  bool gated = true;
  bool interleaved = false;
  float alpha = 1.702f;  // of kGptOss
  float limit = 0.0f;    // of gates from above, of ups from both sides; 0: none
  nf4::OutputType type = nf4::OutputType::kFloat16;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const void* input = nullptr;
  void* output = nullptr;
};

// Where the gate of an output stands in the input; the up stands `up_step` behind.
NF4BENCH_HOST_DEVICE inline std::int64_t gate_at(const Activation& of, std::int64_t index) {
  if (!of.gated) return index;
  const std::int64_t row = index / of.columns;
  const std::int64_t column = index % of.columns;
  return row * of.columns * 2 + (of.interleaved ? column * 2 : column);
}
NF4BENCH_HOST_DEVICE inline std::int64_t up_step(const Activation& of) {
  return of.interleaved ? 1 : of.columns;
}

NF4BENCH_HOST_DEVICE inline float activate(const Activation& of, float gate, float up) {
  if (of.limit > 0.0f) {  // NaN stays what it is
    if (gate > of.limit) gate = of.limit;
    if (up > of.limit) up = of.limit;
    if (up < -of.limit) up = -of.limit;
  }
  switch (of.kind) {
    case ActivationKind::kSilu:
      return gate / (1.0f + expf(-gate)) * up;
    case ActivationKind::kGeluTanh: {
      constexpr float kRoot = 0.7978845608f;  // of 2 / pi
      const float inner = kRoot * (gate + 0.044715f * gate * gate * gate);
      return 0.5f * gate * (1.0f + tanhf(inner)) * up;
    }
    case ActivationKind::kGptOss:
      return (up + 1.0f) * (gate / (1.0f + expf(-of.alpha * gate)));
    case ActivationKind::kRelu2:
      break;
  }
  return (gate <= 0.0f ? 0.0f : gate * gate) * up;  // NaN stays what it is
}

}  // namespace nf4bench::kernels
