#include "io/writers/writers.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/checkpoint/quant_state.hpp"
#include "io/checkpoint/tensor_group.hpp"
#include "nf4/format.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace nf4bench::io {
namespace {

// A one-dimensional entry whose bytes are `values`, which outlive it.
template <typename T>
OutputTensor borrowed(const nf4::Nf4Tensor& tensor, Piece piece, const char* dtype,
                      const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {tensor.name + std::string(suffix_of(piece)),
          dtype,
          {static_cast<std::int64_t>(values.size())},
          static_cast<std::int64_t>(bytes.size()),
          [bytes](const ByteSink& sink) { sink(bytes); }};
}

// An entry that keeps its bytes itself.
template <typename Container>
OutputTensor owned(const nf4::Nf4Tensor& tensor, Piece piece, const char* dtype,
                   const Container& values) {
  const auto given = std::as_bytes(std::span(values));
  std::vector<std::byte> bytes(given.begin(), given.end());
  const auto size = static_cast<std::int64_t>(bytes.size());
  return {tensor.name + std::string(suffix_of(piece)),
          dtype,
          {static_cast<std::int64_t>(values.size())},
          size,
          [bytes = std::move(bytes)](const ByteSink& sink) { sink(bytes); }};
}

std::vector<float> codebook() {
  std::vector<float> values;
  values.reserve(nf4::kCodes);
  for (int code = 0; code < nf4::kCodes; ++code) values.push_back(nf4::codebook_value(code));
  return values;
}

}  // namespace

ElementType checked_type(const std::filesystem::path& path, const OutputTensor& tensor) {
  const std::string name = escaped(tensor.name);
  if (!is_utf8(tensor.name)) {
    throw output_error(path, fmt::format("the tensor name \"{}\" is not UTF-8", name));
  }
  const auto type = element_type(tensor.dtype);
  if (!type) {
    throw output_error(path, fmt::format("tensor \"{}\": safetensors has no type \"{}\"", name,
                                         escaped(tensor.dtype)));
  }
  std::optional<std::uint64_t> bits = facts(*type).bits;
  for (const std::int64_t dimension : tensor.shape) {
    if (dimension < 0) bits.reset();
    if (bits) bits = checked_multiply(*bits, static_cast<std::uint64_t>(dimension));
  }
  if (!bits || tensor.bytes < 0 || *bits % 8 != 0 ||
      *bits / 8 != static_cast<std::uint64_t>(tensor.bytes)) {
    throw output_error(path, fmt::format("tensor \"{}\": its shape does not fill the {} bytes that "
                                         "it promises",
                                         name, tensor.bytes));
  }
  return *type;
}

void write_bytes(const std::filesystem::path& path, const OutputTensor& tensor, AtomicFile& file) {
  std::size_t written = 0;
  tensor.produce([&](std::span<const std::byte> bytes) {
    written += bytes.size();
    file.write(bytes);
  });
  if (written != static_cast<std::size_t>(tensor.bytes)) {
    throw output_error(path, fmt::format("tensor \"{}\" produced {} bytes and promised {}",
                                         escaped(tensor.name), written, tensor.bytes));
  }
}

AtomicFile::Check check_of(const WriteOptions& options, const std::filesystem::path& path) {
  if (!options.check) return {};
  return [check = options.check, path] { check(path); };
}

Error output_error(const std::filesystem::path& path, std::string_view what) {
  return {ErrorKind::kOutput, "{}: {}", escaped(path.native()), what};
}

std::vector<OutputTensor> state_dict_entries(const nf4::Nf4Tensor& tensor) {
  if (!std::isfinite(tensor.nested_offset)) {
    throw Error(ErrorKind::kOutput,
                "tensor \"{}\": nested_offset is {}, which no quant state can hold",
                escaped(tensor.name), tensor.nested_offset);
  }
  std::vector<OutputTensor> entries;
  entries.push_back(borrowed(tensor, Piece::kWeight, "U8", tensor.packed));
  entries.back().shape.push_back(1);  // bitsandbytes stores a column of bytes
  if (tensor.is_nested()) {
    entries.push_back(borrowed(tensor, Piece::kAbsmax, "U8", tensor.absmax_codes));
    entries.push_back(borrowed(tensor, Piece::kNestedAbsmax, "F32", tensor.nested_absmax));
    entries.push_back(borrowed(tensor, Piece::kNestedQuantMap, "F32", tensor.nested_map));
  } else {
    entries.push_back(borrowed(tensor, Piece::kAbsmax, "F32", tensor.absmax));
  }
  entries.push_back(owned(tensor, Piece::kQuantMap, "F32", codebook()));
  entries.push_back(owned(tensor, Piece::kStateNf4, "U8", write_quant_state(tensor)));
  return entries;
}

}  // namespace nf4bench::io
