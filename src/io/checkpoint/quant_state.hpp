#pragma once

#include "nf4/format.hpp"
#include "nf4/tensor.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {

inline constexpr std::uint64_t kMaxQuantStateBytes = 64 << 10;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

// What the JSON beside a packed weight says about it.
struct QuantState {
  std::string quant_type;  // "nf4", "fp4", or whatever the file says
  int blocksize = 0;
  nf4::OutputType dtype = nf4::OutputType::kBfloat16;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  nf4::AbsmaxKind absmax_kind = nf4::AbsmaxKind::kPlain;
  float nested_offset = 0.0f;
  std::vector<std::string> warnings;
};

// Reads a quant state as bitsandbytes packs it. Throws Error(kInput) for JSON that is not strict,
// fields that are missing or of the wrong type, and values out of range; its message starts with
// `where`. When quant_type is not "nf4", the other fields are ignored.
QuantState read_quant_state(std::string_view where, std::string_view text);

// Writes a quant state byte for byte as bitsandbytes does: Python's json.dumps of the fields in
// order.
std::string write_quant_state(const nf4::Nf4Tensor& tensor);

}  // namespace nf4bench::io
