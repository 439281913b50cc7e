#pragma once

namespace nf4bench::kernels::cuda {

// Boxes, which copies bring: of a row or a token 128 bytes, of the weight for the integer kernels
// 16 rows.
inline constexpr int kBoxBytes = 128;
inline constexpr int kBoxColumns = 2 * kBoxBytes;  // weights of a row
inline constexpr int kBoxRows = 16;
inline constexpr int kBoxSize = kBoxRows * kBoxBytes;

}  // namespace nf4bench::kernels::cuda
