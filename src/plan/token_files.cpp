#include "plan/token_files.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/npy/npy.hpp"
#include "nf4/values.hpp"
#include "plan/problems.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

namespace nf4bench::plan {
namespace {

// A file that an option names.
struct GivenFile {
  const char* option;
  io::ByteSource source;
  io::NpyHeader header;

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::kInput, "{}: {}: {}", option, source.name(), what);
  }

  // Throws Error(kInput) unless it has two dimensions, `wanted`, with at least so many tokens.
  void require(std::int64_t tokens, const char* wanted) const {
    if (header.shape.size() != 2) {
      refuse(fmt::format("found {} dimensions, wanted {}", header.shape.size(), wanted));
    }
    const auto rows = static_cast<std::int64_t>(header.shape[0]);
    if (rows < tokens) {
      refuse(fmt::format("has {} tokens, and the run takes {} (--tokens)", rows, tokens));
    }
  }
};

GivenFile open(const char* option, io::ByteSource source) {
  io::NpyHeader header = io::read_npy_header(source);
  return {option, std::move(source), std::move(header)};
}

nf4::OutputType type_of(const GivenFile& file) {
  switch (file.header.type) {
    case io::ElementType::kF16:
      return nf4::OutputType::kFloat16;
    case io::ElementType::kBf16:
      return nf4::OutputType::kBfloat16;
    case io::ElementType::kF32:
      return nf4::OutputType::kFloat32;
    default:
      file.refuse(fmt::format("found {} values, wanted float16, bfloat16 or float32",
                              io::facts(file.header.type).name));
  }
}

// A misspelt word is taken for a file.
io::ByteSource open_activations(const std::string& path) {
  try {
    return io::ByteSource::open(path);
  } catch (const Error& error) {
    throw Error(
        error.kind(),
        fmt::format("--activations: wanted normal, outlier or a .npy file; {}", error.what()));
  }
}

}  // namespace

operation::GivenActivations read_activations(const std::string& path, std::int64_t tokens) {
  const GivenFile file = open("--activations", open_activations(path));
  const nf4::OutputType type = type_of(file);
  file.require(tokens, "two dimensions: tokens and inputs");
  const auto inputs = static_cast<std::int64_t>(file.header.shape[1]);
  std::vector<std::byte> bytes(static_cast<std::size_t>(tokens * inputs) *
                               nf4::size_in_bytes(type));
  file.source.read(file.header.data_begin, bytes);
  return {.tokens = tokens, .inputs = inputs, .values = nf4::to_doubles(type, bytes)};
}

void check_fit(const operation::GivenActivations& given, const operation::Operation& operation,
               const std::vector<PlannedTensor>& tensors, const record::RunOptions& options) {
  for (const PlannedTensor& planned : tensors) {
    const std::int64_t wanted = problems_of(operation, planned.source, options).front().inputs;
    if (wanted == given.inputs) continue;
    throw Error(ErrorKind::kInput,
                "--activations: {} has {} values a token, and tensor \"{}\" takes {}; choose among "
                "tensors with --tensor",
                escaped(options.activations_file), given.inputs, escaped(planned.source.name),
                wanted);
  }
}

std::vector<std::int64_t> read_ids(const std::string& path, std::int64_t tokens,
                                   const std::vector<PlannedTensor>& tensors) {
  const GivenFile file = open("--routing", io::ByteSource::open(path));
  const std::vector<std::uint64_t>& shape = file.header.shape;
  const bool is_wide = file.header.type == io::ElementType::kI64;
  if (!is_wide && file.header.type != io::ElementType::kI32) {
    file.refuse(
        fmt::format("found {} values, wanted int32 or int64", io::facts(file.header.type).name));
  }
  file.require(tokens, "two: tokens and the experts of each");
  const auto top_k = static_cast<std::int64_t>(shape[1]);
  for (const PlannedTensor& planned : tensors) {
    const std::int64_t wanted = planned.source.geometry.stack->top_k;
    if (wanted == top_k) continue;
    file.refuse(fmt::format("has {} experts a token, and tensor \"{}\" takes {} (--top-k)", top_k,
                            escaped(planned.source.name), wanted));
  }
  std::vector<std::int64_t> ids(shape[0] * shape[1]);
  const std::size_t size = is_wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
  std::vector<std::byte> bytes(ids.size() * size);
  file.source.read(file.header.data_begin, bytes);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::int32_t narrow = 0;
    std::memcpy(is_wide ? static_cast<void*>(&ids[i]) : &narrow, bytes.data() + i * size, size);
    if (!is_wide) ids[i] = narrow;
  }
  return ids;
}

}  // namespace nf4bench::plan
