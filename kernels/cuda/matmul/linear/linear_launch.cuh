#pragma once

// What launches of the integer kernels share.

#include "cuda/matmul/linear/line_and_residual.cuh"
#include "cuda/matmul/scales/lane_scales.cuh"

#include <type_traits>

namespace nf4bench::kernels::cuda {

inline constexpr LineAndResidual::Tables kLineTables = LineAndResidual::make_tables();

// Calls use(integral_constant<ScaleKind>, integral_constant<int>: boxes a unit).
template <class Function>
void with_unit_kind(const Problem& problem, int unit_boxes, Function use) {
  const auto with_kind = [&](auto boxes) {
    switch (scale_kind(problem, unit_boxes)) {
      case ScaleKind::kPlain:
        return use(std::integral_constant<ScaleKind, ScaleKind::kPlain>{}, boxes);
      case ScaleKind::kNested:
        return use(std::integral_constant<ScaleKind, ScaleKind::kNested>{}, boxes);
      case ScaleKind::kPacked:
        return use(std::integral_constant<ScaleKind, ScaleKind::kPacked>{}, boxes);
    }
  };
  if (unit_boxes == 4) return with_kind(std::integral_constant<int, 4>{});
  if (unit_boxes == 2) return with_kind(std::integral_constant<int, 2>{});
  with_kind(std::integral_constant<int, 1>{});
}

}  // namespace nf4bench::kernels::cuda
