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

// What becomes of gates and ups: gate * sigmoid(gate * (linear + cubic * gate^2)) * (up + shift),
// that of kGeluTanh because 1 + tanh(u) = 2 * sigmoid(2 * u); of kRelu2 something else. NaN stays
// NaN.
class ActivationFunction {
 public:
  NF4BENCH_HOST_DEVICE explicit ActivationFunction(const Activation& of)
      : is_square_(of.kind == ActivationKind::kRelu2),
        limit_(of.limit > 0.0f ? of.limit : INFINITY) {
    constexpr float kTwoRoots = 1.5957691216f;  // of 2 / pi
    if (of.kind == ActivationKind::kGeluTanh) {
      linear_ = kTwoRoots;
      cubic_ = kTwoRoots * 0.044715f;
    } else if (of.kind == ActivationKind::kGptOss) {
      linear_ = of.alpha;
      shift_ = 1.0f;
    }
  }

  NF4BENCH_HOST_DEVICE float operator()(float gate, float up) const {
    clamp(gate, up);
    if (is_square_) return (gate <= 0.0f ? 0.0f : gate * gate) * up;
    return gate / (1.0f + expf(exponent(gate))) * (up + shift_);
  }

#if defined(__CUDACC__)
  // The same of any kind but kRelu2, for outputs of 16 bits: its error is a hundredth of theirs.
  __device__ __forceinline__ float fast(float gate, float up) const {
    constexpr float kLog2E = 1.44269504f;
    clamp(gate, up);
    float power, sigmoid;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent(gate) * kLog2E));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(sigmoid) : "f"(1.0f + power));
    return gate * sigmoid * (up + shift_);
  }
#endif

 private:
  NF4BENCH_HOST_DEVICE void clamp(float& gate, float& up) const {
    if (gate > limit_) gate = limit_;
    if (up > limit_) up = limit_;
    if (up < -limit_) up = -limit_;
  }

  NF4BENCH_HOST_DEVICE float exponent(float gate) const {
    const float square = fminf(gate * gate, 1e30f);  // finite: times a cubic of 0 it is 0
    return -gate * (linear_ + cubic_ * square);
  }

  bool is_square_;
  float limit_;
  float linear_ = 1.0f;
  float cubic_ = 0.0f;
  float shift_ = 0.0f;
};

NF4BENCH_HOST_DEVICE inline float activate(const Activation& of, float gate, float up) {
  return ActivationFunction(of)(gate, up);
}

}  // namespace nf4bench::kernels
