#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nf4bench::io {

// Every element type that safetensors knows, in its own order. Tensors in a file are sorted by it,
// the last type first.
enum class ElementType : std::uint8_t {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

// What is known of an element type.
struct ElementTypeFacts {
  std::string_view spelling;  // in a safetensors header: "BF16"
  std::string_view name;      // in messages: "bfloat16"
  std::uint32_t bits;         // of one element
};

const ElementTypeFacts& facts(ElementType type);

// The type spelled `spelling` in a safetensors header; empty for anything else. Case matters.
std::optional<ElementType> element_type(std::string_view spelling);

}  // namespace nf4bench::io
