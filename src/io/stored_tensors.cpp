#include "io/stored_tensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>

namespace nf4bench::io {
namespace {

constexpr std::array<ElementTypeFacts, 22> kFacts = {{
    {"BOOL", "bool", 8},
    {"F4", "float4_e2m1", 4},
    {"F6_E2M3", "float6_e2m3", 6},
    {"F6_E3M2", "float6_e3m2", 6},
    {"U8", "uint8", 8},
    {"I8", "int8", 8},
    {"F8_E5M2", "float8_e5m2", 8},
    {"F8_E4M3", "float8_e4m3", 8},
    {"F8_E8M0", "float8_e8m0", 8},
    {"F8_E4M3FNUZ", "float8_e4m3fnuz", 8},
    {"F8_E5M2FNUZ", "float8_e5m2fnuz", 8},
    {"I16", "int16", 16},
    {"U16", "uint16", 16},
    {"F16", "float16", 16},
    {"BF16", "bfloat16", 16},
    {"I32", "int32", 32},
    {"U32", "uint32", 32},
    {"F32", "float32", 32},
    {"C64", "complex64", 64},
    {"F64", "float64", 64},
    {"I64", "int64", 64},
    {"U64", "uint64", 64},
}};

}  // namespace

const ElementTypeFacts& facts(ElementType type) {
  return kFacts[static_cast<std::size_t>(type)];
}

std::optional<ElementType> element_type(std::string_view spelling) {
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].spelling == spelling) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

void StoredTensors::expect(std::size_t tensors, std::size_t name_bytes) {
  names_.expect(tensors, name_bytes);
  reserve_more(rows_, tensors);
  reserve_more(dimensions_, tensors);  // most tensors have one or two
}

void StoredTensors::add(const StoredTensor& tensor) {
  names_.add(tensor.name);
  rows_.push_back({.shape_begin = dimensions_.size(),
                   .begin = tensor.begin,
                   .bytes = tensor.bytes,
                   .file = tensor.file,
                   .rank = static_cast<std::uint16_t>(tensor.shape.size()),
                   .type = tensor.type});
  dimensions_.insert(dimensions_.end(), tensor.shape.begin(), tensor.shape.end());
}

StoredTensor StoredTensors::operator[](std::size_t number) const {
  const Row& row = rows_[number];
  return {.name = names_[number],
          .type = row.type,
          .shape = std::span(dimensions_).subspan(row.shape_begin, row.rank),
          .file = row.file,
          .begin = row.begin,
          .bytes = row.bytes};
}

std::string dimensions_to_string(std::span<const std::uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace nf4bench::io
