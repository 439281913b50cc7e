#include "io/npy/npy.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "io/little_endian.hpp"
#include "io/npy/npy_dict.hpp"
#include "io/stored_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nf4bench::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kVersionEnd = 8;  // magic and two version bytes

constexpr std::array<std::pair<std::string_view, ElementType>, 15> kDescrs = {{
    {"|u1", ElementType::kU8},
    {"|i1", ElementType::kI8},
    {"|b1", ElementType::kBool},
    {"<f2", ElementType::kF16},
    {"<V2", ElementType::kBf16},
    {"|V2", ElementType::kBf16},
    {"<u2", ElementType::kBf16},
    {"<i2", ElementType::kI16},
    {"<f4", ElementType::kF32},
    {"<i4", ElementType::kI32},
    {"<u4", ElementType::kU32},
    {"<f8", ElementType::kF64},
    {"<i8", ElementType::kI64},
    {"<u8", ElementType::kU64},
    {"<c8", ElementType::kC64},
}};

ElementType type_of(const std::string& where, const std::string& descr) {
  for (const auto& [spelling, type] : kDescrs) {
    if (spelling == descr) return type;
  }
  if (descr.find('O') != std::string::npos) {
    throw input_error(where, "descr", in_quotes(descr),
                      "numbers (Python objects would need pickle, which runs code)");
  }
  if (descr.starts_with('>')) {
    throw input_error(where, "descr", in_quotes(descr), "a little-endian type such as '<f4'");
  }
  throw input_error(where, "descr", in_quotes(descr),
                    "'|u1', '<f4', '<f2', '<V2' or another number");
}

// Bytes of an array of `shape`. Empty when a product overflows, even if another dimension is zero,
// because the answer must not depend on the order of the dimensions.
std::optional<std::uint64_t> bytes_of(const std::vector<std::uint64_t>& shape, ElementType type) {
  std::optional<std::uint64_t> bytes = facts(type).bits / 8;
  bool is_empty = false;
  for (const std::uint64_t dimension : shape) {
    is_empty = is_empty || dimension == 0;
    if (bytes) bytes = checked_multiply(*bytes, std::max<std::uint64_t>(dimension, 1));
  }
  return bytes && is_empty ? 0 : bytes;
}

// The dict's text. `start` is the file's beginning with a whole length.
std::string_view dict_text(std::string_view name, std::string_view start,
                           std::uint64_t file_bytes) {
  const std::size_t dict_begin = kVersionEnd + (start[6] == 1 ? 2 : 4);
  const std::uint64_t length = number_at(start, kVersionEnd, dict_begin - kVersionEnd);
  if (length > file_bytes - dict_begin) {
    throw input_error(name, ".npy header length", fmt::format("{} bytes", length),
                      fmt::format("at most the {} that the file has", file_bytes - dict_begin));
  }
  if (length > kMaxNpyHeaderBytes) {
    throw input_error(name, ".npy header length", fmt::format("{} bytes", length),
                      fmt::format("at most {}", kMaxNpyHeaderBytes));
  }
  return start.substr(dict_begin, length);
}

void check_order(const std::string& where, const NpyDict& dict) {
  if (!dict.is_fortran_order) return;
  const auto is_long = [](std::uint64_t dimension) { return dimension > 1; };
  if (std::count_if(dict.shape.begin(), dict.shape.end(), is_long) > 1) {
    throw input_error(where, "fortran_order", "True with shape " + dimensions_to_string(dict.shape),
                      "C order: save numpy.ascontiguousarray(array)");
  }
}

}  // namespace

NpyHeader read_npy_header(const ByteSource& source) {
  const std::string start = source.read_text(0, std::min(source.size(), kMaxNpyStartBytes));
  return parse_npy_header(source.name(), start, source.size());
}

NpyHeader parse_npy_header(std::string_view name, std::string_view start,
                           std::uint64_t file_bytes) {
  if (!start.starts_with(kMagic)) {
    throw input_error(name, "not a .npy file: it does not start with \\x93NUMPY");
  }
  if (start.size() < kVersionEnd) throw input_error(name, "the .npy header is cut short");
  const int major = static_cast<unsigned char>(start[6]);
  const int minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw input_error(name, ".npy version", fmt::format("{}.{}", major, minor), "1.0, 2.0 or 3.0");
  }
  if (start.size() < kVersionEnd + (major == 1 ? 2 : 4)) {
    throw input_error(name, "the .npy header is cut short");
  }
  const std::string_view text = dict_text(name, start, file_bytes);
  const std::string where = fmt::format("{}: .npy header", name);
  NpyDict dict =
      parse_npy_dict(where, text, major < 3 ? LongSuffix::kAllowed : LongSuffix::kRefused);
  const ElementType type = type_of(where, dict.descr);
  check_order(where, dict);
  const auto data_begin = static_cast<std::uint64_t>(text.data() + text.size() - start.data());
  const std::uint64_t data_bytes = file_bytes - data_begin;
  const auto wanted = bytes_of(dict.shape, type);
  const std::string shape = dimensions_to_string(dict.shape);
  if (!wanted) throw input_error(where, "shape", shape, "a size that fits 64 bits");
  if (*wanted != data_bytes) {
    throw input_error(name, "data", fmt::format("{} bytes", data_bytes),
                      fmt::format("the {} bytes of {} {}", *wanted, dict.descr, shape));
  }
  return {type, std::move(dict.shape), data_begin, data_bytes};
}

}  // namespace nf4bench::io
