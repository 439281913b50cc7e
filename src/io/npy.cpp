#include "io/npy.hpp"

#include "base/checked.hpp"
#include "io/input_error.hpp"
#include "io/npy_dict.hpp"
#include "io/stored_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nf4bench {
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

// Bytes that an array of `shape` fills. Empty when they overflow, even if a dimension is zero: the
// answer must not depend on the order of the dimensions.
std::optional<std::uint64_t> bytes_of(const std::vector<std::uint64_t>& shape, ElementType type) {
  std::optional<std::uint64_t> bytes = facts(type).bits / 8;
  bool is_empty = false;
  for (const std::uint64_t dimension : shape) {
    is_empty = is_empty || dimension == 0;
    if (bytes) bytes = checked_multiply(*bytes, std::max<std::uint64_t>(dimension, 1));
  }
  return bytes && is_empty ? 0 : bytes;
}

// The dict's text, and where the data begins.
std::pair<std::string, std::uint64_t> read_dict_text(const ByteSource& source,
                                                     const std::string& start) {
  const bool is_short_form = start[6] == 1;
  const std::uint64_t dict_begin = kVersionEnd + (is_short_form ? 2 : 4);
  const std::string raw = source.read_text(kVersionEnd, dict_begin - kVersionEnd);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    length |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
  }
  if (length > source.size() - dict_begin) {
    throw input_error(source.name(), ".npy header length", fmt::format("{} bytes", length),
                      fmt::format("at most the {} that the file has", source.size() - dict_begin));
  }
  if (length > kMaxNpyHeaderBytes) {
    throw input_error(source.name(), ".npy header length", fmt::format("{} bytes", length),
                      fmt::format("at most {}", kMaxNpyHeaderBytes));
  }
  return {source.read_text(dict_begin, length), dict_begin + length};
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
  const std::string start = source.read_text(0, std::min(source.size(), kVersionEnd));
  if (!std::string_view(start).starts_with(kMagic)) {
    throw input_error(source.name(), "not a .npy file: it does not start with \\x93NUMPY");
  }
  if (start.size() < kVersionEnd) throw input_error(source.name(), "the .npy header is cut short");
  const int major = static_cast<unsigned char>(start[6]);
  const int minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw input_error(source.name(), ".npy version", fmt::format("{}.{}", major, minor),
                      "1.0, 2.0 or 3.0");
  }
  if (source.size() < kVersionEnd + (major == 1 ? 2 : 4)) {
    throw input_error(source.name(), "the .npy header is cut short");
  }
  const auto [text, data_begin] = read_dict_text(source, start);
  const std::string where = source.name() + ": .npy header";
  NpyDict dict =
      parse_npy_dict(where, text, major < 3 ? LongSuffix::kAllowed : LongSuffix::kRefused);
  const ElementType type = type_of(where, dict.descr);
  check_order(where, dict);
  const std::uint64_t data_bytes = source.size() - data_begin;
  const auto wanted = bytes_of(dict.shape, type);
  const std::string shape = dimensions_to_string(dict.shape);
  if (!wanted) throw input_error(where, "shape", shape, "a size that fits 64 bits");
  if (*wanted != data_bytes) {
    throw input_error(source.name(), "data", fmt::format("{} bytes", data_bytes),
                      fmt::format("the {} bytes of {} {}", *wanted, dict.descr, shape));
  }
  return {type, std::move(dict.shape), data_begin, data_bytes};
}

}  // namespace nf4bench
