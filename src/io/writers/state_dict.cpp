#include "io/writers/state_dict.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/checkpoint/quant_state.hpp"
#include "io/checkpoint/tensor_group.hpp"
#include "nf4/format.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
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

std::vector<OutputTensor> state_dict_entries(const nf4::Nf4Tensor& tensor) {
  if (!std::isfinite(tensor.nested_offset)) {
    throw Error(ErrorKind::kOutput,
                fmt::format("tensor \"{}\": nested_offset is {}, which no quant state can hold",
                            escaped(tensor.name), tensor.nested_offset));
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
