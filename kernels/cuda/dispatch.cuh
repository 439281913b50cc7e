#pragma once

// From a job's run-time kind to a kernel's template parameters.

#include "variant.hpp"

#include <cuda_runtime.h>

#include <type_traits>

namespace nf4bench::kernels::cuda {

template <OutputType kType>
using TypeTag = std::integral_constant<OutputType, kType>;

// Calls launch(TypeTag<output type>, bool_constant<nested>) for the kind of `job`.
template <class Function>
void dispatch(const Job& job, Function launch) {
  const auto with_type = [&](auto type) {
    if (job.nested) {
      launch(type, std::true_type{});
    } else {
      launch(type, std::false_type{});
    }
  };
  switch (job.output_type) {
    case OutputType::kFloat16:
      return with_type(TypeTag<OutputType::kFloat16>{});
    case OutputType::kBfloat16:
      return with_type(TypeTag<OutputType::kBfloat16>{});
    case OutputType::kFloat32:
      return with_type(TypeTag<OutputType::kFloat32>{});
  }
}

// Calls launch(TypeTag<output type>) for a job of 16-bit outputs.
template <class Function>
void dispatch_16_bit(const Job& job, Function launch) {
  if (job.output_type == OutputType::kFloat16) {
    launch(TypeTag<OutputType::kFloat16>{});
  } else {
    launch(TypeTag<OutputType::kBfloat16>{});
  }
}

// Blocks of a grid whose blocks do `per_block` of `count` each. At most 2^31 - 1 for any count
// below 2^31 * per_block.
inline unsigned grid_size(std::int64_t count, std::int64_t per_block) {
  return static_cast<unsigned>(block_count(count, per_block));
}

// Blocks in each of `rows` rows for `work` items, of which a block takes `per_block` at a time.
inline dim3 grid_of_rows(std::int64_t work, std::int64_t per_block, int rows) {
  constexpr std::int64_t kMostBlocks = 65536;
  const std::int64_t most = kMostBlocks / rows > 0 ? kMostBlocks / rows : 1;
  const std::int64_t wanted = block_count(work, per_block);
  const std::int64_t blocks = wanted < most ? wanted : most;
  return {static_cast<unsigned>(blocks > 0 ? blocks : 1), static_cast<unsigned>(rows)};
}

}  // namespace nf4bench::kernels::cuda
