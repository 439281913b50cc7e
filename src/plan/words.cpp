#include "plan/words.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/parsed.hpp"
#include "base/text.hpp"
#include "nf4/format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::plan {
namespace {

// The whole of `text` as a positive decimal number; empty when it is none or does not fit.
std::optional<std::int64_t> positive_number(std::string_view text) {
  const auto value = parsed<std::int64_t>(text);
  return value && *value > 0 ? value : std::nullopt;
}

bool fits_elements(const std::vector<std::int64_t>& shape) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : shape) {
    const auto product = checked_multiply(elements, static_cast<std::uint64_t>(extent));
    if (!product || *product > std::numeric_limits<std::int64_t>::max()) return false;
    elements = *product;
  }
  return true;
}

}  // namespace

std::vector<std::int64_t> parse_shape(const std::string& word, const char* option) {
  std::vector<std::int64_t> shape;
  std::string_view rest = word;
  while (true) {
    const std::size_t cross = rest.find('x');
    const std::optional<std::int64_t> extent = positive_number(rest.substr(0, cross));
    if (!extent) {
      throw Error(ErrorKind::kUsage,
                  "{}: \"{}\" is not a shape; wanted positive numbers joined by x, as in "
                  "14336x4096 (out_features x in_features)",
                  option, escaped(word));
    }
    shape.push_back(*extent);
    if (cross == std::string_view::npos) break;
    rest.remove_prefix(cross + 1);
  }
  if (!fits_elements(shape)) {
    throw Error(ErrorKind::kUsage, "{}: \"{}\" has more elements than a 63-bit count can hold",
                option, escaped(word));
  }
  return shape;
}

int check_blocksize(int blocksize, const char* option) {
  if (nf4::is_legal_blocksize(blocksize)) return blocksize;
  throw Error(ErrorKind::kUsage, "{}: the blocksize {} is not a power of two from {} to {}", option,
              blocksize, nf4::kMinBlocksize, nf4::kMaxBlocksize);
}

namespace {

constexpr const char* kRaw = "--raw";

const std::vector<std::string> kKeys = {"weight",        "absmax",     "shape",  "blocksize",
                                        "nested_absmax", "nested_map", "offset", "quant_map",
                                        "dtype",         "name"};

[[noreturn]] void refuse(const std::string& problem) {
  throw Error(ErrorKind::kUsage, "{}: {}", kRaw, problem);
}

using Fields = std::map<std::string, std::string, std::less<>>;

void add_field(const std::string& text, Fields& fields) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  if (equals == std::string::npos || equals + 1 == text.size() ||
      std::ranges::find(kKeys, key) == kKeys.end()) {
    refuse(fmt::format("found \"{}\", wanted KEY=VALUE with one of the keys {}", escaped(text),
                       fmt::join(kKeys, ", ")));
  }
  if (!fields.emplace(key, text.substr(equals + 1)).second) {
    refuse(fmt::format("{} is given twice", key));
  }
}

Fields fields_in(std::string_view word) {
  Fields fields;
  while (true) {
    const std::size_t comma = word.find(',');
    add_field(std::string(word.substr(0, comma)), fields);
    if (comma == std::string_view::npos) break;
    word.remove_prefix(comma + 1);
  }
  for (const char* key : {"weight", "absmax", "shape", "blocksize"}) {
    if (fields.contains(key)) continue;
    refuse(
        fmt::format("there is no {}=; wanted at least weight=W.npy,absmax=A.npy,shape=OUTxIN,"
                    "blocksize=64",
                    key));
  }
  return fields;
}

// The value of `key`; empty when it is not given.
std::string value_of(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? "" : found->second;
}

template <typename Number>
Number number_of(std::string_view key, const std::string& text) {
  if (const auto number = parsed<Number>(text)) return *number;
  refuse(fmt::format("{}: \"{}\" is not a number", key, escaped(text)));
}

nf4::OutputType type_of(const std::string& text) {
  if (const auto type = output_type_named(text)) return *type;
  refuse(fmt::format("dtype: \"{}\" is not one of float16, bfloat16, float32", escaped(text)));
}

// Nested scales need three things; a dump has all of them or none.
void set_nested(const Fields& fields, io::RawDump& dump) {
  dump.nested_absmax = value_of(fields, "nested_absmax");
  dump.nested_map = value_of(fields, "nested_map");
  const std::string offset = value_of(fields, "offset");
  const bool has_all = dump.is_nested() && !dump.nested_map.empty() && !offset.empty();
  const bool has_none = !dump.is_nested() && dump.nested_map.empty() && offset.empty();
  if (!has_all && !has_none) {
    refuse("nested scales need nested_absmax=, nested_map= and offset=; plain ones none of them");
  }
  if (has_none) return;
  if (offset.ends_with(".npy")) {
    dump.offset_file = offset;
    return;
  }
  const auto value = number_of<double>("offset", offset);
  if (!(std::abs(value) <= std::numeric_limits<float>::max())) {
    refuse(fmt::format("offset: {} is not a finite float32", escaped(offset)));
  }
  dump.nested_offset = static_cast<float>(value);
}

}  // namespace

std::optional<nf4::OutputType> output_type_named(std::string_view word) {
  constexpr std::pair<const char*, nf4::OutputType> kOtherNames[] = {
      {"fp16", nf4::OutputType::kFloat16},  {"f16", nf4::OutputType::kFloat16},
      {"half", nf4::OutputType::kFloat16},  {"bf16", nf4::OutputType::kBfloat16},
      {"fp32", nf4::OutputType::kFloat32},  {"f32", nf4::OutputType::kFloat32},
      {"float", nf4::OutputType::kFloat32}, {"single", nf4::OutputType::kFloat32}};
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    if (word == to_string(type)) return type;
  }
  for (const auto& [name, type] : kOtherNames) {
    if (word == name) return type;
  }
  return {};
}

io::RawDump parse_raw(const std::string& word) {
  const Fields fields = fields_in(word);
  io::RawDump dump;
  dump.weight = value_of(fields, "weight");
  dump.absmax = value_of(fields, "absmax");
  dump.quant_map = value_of(fields, "quant_map");
  dump.shape = parse_shape(value_of(fields, "shape"), kRaw);
  dump.blocksize =
      check_blocksize(number_of<int>("blocksize", value_of(fields, "blocksize")), kRaw);
  set_nested(fields, dump);
  if (fields.contains("dtype")) dump.dtype = type_of(value_of(fields, "dtype"));
  dump.name = value_of(fields, "name");
  if (dump.name.empty()) dump.name = dump.weight.stem().native();
  if (dump.name.empty())
    refuse(fmt::format("weight: \"{}\" names no file", escaped(dump.weight.native())));
  return dump;
}

io::StackShape parse_stack_shape(const std::string& word) {
  const std::size_t equals = word.rfind('=');
  if (equals == 0 || equals == std::string::npos) {
    throw Error(ErrorKind::kUsage,
                "{}: found \"{}\", wanted NAME=NxK, as in gate_up_proj=1536x2048", io::kShapeOption,
                escaped(word));
  }
  const std::vector<std::int64_t> shape = parse_shape(word.substr(equals + 1), io::kShapeOption);
  if (shape.size() != 2) {
    throw Error(ErrorKind::kUsage,
                "{}: \"{}\" has {} numbers; wanted the outputs and inputs of an expert, as in "
                "gate_up_proj=1536x2048",
                io::kShapeOption, escaped(word), shape.size());
  }
  return {.name = word.substr(0, equals), .outputs = shape[0], .inputs = shape[1]};
}

namespace {

// The library's matcher recurses once a character; names from a file may be of any length.
constexpr std::size_t kMaxMatchedChars = 1024;

}  // namespace

NameFilter::NameFilter(const std::string& regex) {
  constexpr std::size_t kMostChars = 1000;  // std::regex recurses for each bracket
  if (regex.empty()) return;
  if (regex.size() > kMostChars) {
    throw Error(ErrorKind::kUsage,
                "--tensor: found an expression of {} characters, wanted at most {}", regex.size(),
                kMostChars);
  }
  try {
    regex_.emplace(regex, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw Error(ErrorKind::kUsage, "--tensor: \"{}\" is no regular expression: {}", escaped(regex),
                error.what());
  }
}

bool NameFilter::selects(const std::string& name) const {
  if (!regex_) return true;
  return std::regex_search(name.substr(0, kMaxMatchedChars), *regex_);
}

}  // namespace nf4bench::plan
