#include "io/writers/output_check.hpp"

#include "base/checked.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <optional>

namespace nf4bench::io {

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
  return {ErrorKind::kOutput, fmt::format("{}: {}", escaped(path.native()), what)};
}

}  // namespace nf4bench::io
