#pragma once

#include "nf4/format.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::nf4 {

// How a block's scale is stored.
enum class AbsmaxKind : std::uint8_t {
  kPlain,   // one float32 for each block
  kNested,  // one uint8 code for each block, a float32 per 256 codes, a map, an offset
};

// "plain" or "nested".
constexpr const char* to_string(AbsmaxKind kind) {
  return kind == AbsmaxKind::kNested ? "nested" : "plain";
}

// One NF4-quantized tensor in host memory. Valid once loaded (validate()); nobody checks it again.
struct Nf4Tensor {
  std::string name;    // the weight's own name, e.g. "model.layers.0.mlp.up_proj.weight"
  std::string source;  // file it came from, or "synthetic"
  std::vector<std::int64_t> shape;           // of the dequantized tensor, row-major, any rank
  std::int64_t elements = 0;                 // product of shape
  int blocksize = 64;                        // elements that share one scale
  OutputType dtype = OutputType::kBfloat16;  // the output type that the quant state names
  AbsmaxKind absmax_kind = AbsmaxKind::kNested;

  std::vector<std::uint8_t> packed;        // packed_bytes(elements)
  std::vector<float> absmax;               // plain: blocks(); nested: empty
  std::vector<std::uint8_t> absmax_codes;  // nested: blocks(); plain: empty
  std::vector<float> nested_absmax;        // nested: nested_blocks(); plain: empty
  std::vector<float> nested_map;           // nested: 256; plain: empty
  float nested_offset = 0.0f;              // nested: added to every scale

  std::int64_t blocks() const { return block_count(elements, blocksize); }
  std::int64_t nested_blocks() const { return block_count(blocks(), kNestedBlocksize); }
  bool is_nested() const { return absmax_kind == AbsmaxKind::kNested; }
};

// Bytes that a dequantization must read: packed weight, absmax and, when nested, its state.
std::int64_t bytes_read(const Nf4Tensor& tensor);

// Throws Error(kInput) naming the tensor, the field, what was found and what is wanted, unless
// every length agrees with the shape and the blocksize is legal.
void validate(const Nf4Tensor& tensor);

// "4096x4096"; "scalar" for rank 0.
std::string shape_to_string(const std::vector<std::int64_t>& shape);

// SHA-256 over the little-endian bytes of packed weight, absmax (or its codes), nested absmax,
// nested map and nested offset, in that order. Two tensors with the same fingerprint decode to the
// same values.
std::string fingerprint(const Nf4Tensor& tensor);

}  // namespace nf4bench::nf4
