#include "plan/activations_file.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/npy/npy.hpp"
#include "nf4/values.hpp"
#include "plan/problems.hpp"

#include <fmt/format.h>

#include <vector>

namespace nf4bench::plan {
namespace {

[[noreturn]] void refuse(const io::ByteSource& source, const std::string& what) {
  throw Error(ErrorKind::kInput, fmt::format("--activations: {}: {}", source.name(), what));
}

nf4::OutputType type_of(const io::ByteSource& source, io::ElementType type) {
  switch (type) {
    case io::ElementType::kF16:
      return nf4::OutputType::kFloat16;
    case io::ElementType::kBf16:
      return nf4::OutputType::kBfloat16;
    case io::ElementType::kF32:
      return nf4::OutputType::kFloat32;
    default:
      refuse(source, fmt::format("found {} values, wanted float16, bfloat16 or float32",
                                 io::facts(type).name));
  }
}

// A misspelt word is taken for a file.
io::ByteSource open(const std::string& path) {
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
  const io::ByteSource source = open(path);
  const io::NpyHeader header = io::read_npy_header(source);
  const nf4::OutputType type = type_of(source, header.type);
  if (header.shape.size() != 2) {
    refuse(source, fmt::format("found {} dimensions, wanted two dimensions: tokens and inputs",
                               header.shape.size()));
  }
  const auto rows = static_cast<std::int64_t>(header.shape[0]);
  const auto inputs = static_cast<std::int64_t>(header.shape[1]);
  if (rows < tokens) {
    refuse(source, fmt::format("has {} tokens, and the run takes {} (--tokens)", rows, tokens));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(tokens * inputs) *
                               nf4::size_in_bytes(type));
  source.read(header.data_begin, bytes);
  return {.tokens = tokens, .inputs = inputs, .values = nf4::to_doubles(type, bytes)};
}

void check_fit(const operation::GivenActivations& given, const operation::Operation& operation,
               const std::vector<PlannedTensor>& tensors, const record::RunOptions& options) {
  for (const PlannedTensor& planned : tensors) {
    const std::int64_t wanted = problems_of(operation, planned.source, options).front().inputs;
    if (wanted == given.inputs) continue;
    throw Error(ErrorKind::kInput,
                fmt::format("--activations: {} has {} values a token, and tensor \"{}\" takes {}; "
                            "choose among tensors with --tensor",
                            escaped(options.activations_file), given.inputs,
                            escaped(planned.source.name), wanted));
  }
}

}  // namespace nf4bench::plan
