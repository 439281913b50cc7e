#pragma once

#include "io/name_table.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

inline constexpr std::size_t kMaxStoredTensors = 4'000'000;
inline constexpr std::size_t kMaxStoredRank = 32;

// One tensor as a file holds it: a range of bytes with a type and a shape, whose meaning is not
// known yet.
struct StoredTensor {
  std::string_view name = {};  // borrowed
  ElementType type = ElementType::kU8;
  std::span<const std::uint64_t> shape = {};  // borrowed
  std::uint32_t file = 0;                     // number of the file that holds it
  std::uint64_t begin = 0;                    // of its bytes in that file
  std::uint64_t bytes = 0;
};

// All tensors of an input, from all its files. Compact, because there may be millions.
class StoredTensors {
 public:
  // Makes room for `tensors` more tensors, whose names have `name_bytes` bytes together.
  void expect(std::size_t tensors, std::size_t name_bytes);

  void add(const StoredTensor& tensor);

  std::size_t size() const { return rows_.size(); }

  // Borrows from the table: valid until the next add().
  StoredTensor operator[](std::size_t number) const;

  // Prepares find(). Returns the number of a tensor whose name occurred before, if there is one.
  std::optional<std::size_t> index() { return names_.index(); }
  std::optional<std::size_t> find(std::string_view name) const { return names_.find(name); }

  // The same, faster when the tensor's number is `guess`, which may be anything.
  std::optional<std::size_t> find(std::string_view name, std::size_t guess) const {
    return guess < size() && names_[guess] == name ? guess : names_.find(name);
  }

 private:
  struct Row {
    std::size_t shape_begin;
    std::uint64_t begin;
    std::uint64_t bytes;
    std::uint32_t file;
    std::uint16_t rank;
    ElementType type;
  };

  NameTable names_;
  std::vector<std::uint64_t> dimensions_;
  std::vector<Row> rows_;
};

// "[2, 3]".
std::string dimensions_to_string(std::span<const std::uint64_t> shape);

}  // namespace nf4bench::io
