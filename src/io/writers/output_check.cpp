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

std::vector<std::byte> produced_bytes(const std::filesystem::path& path,
                                      const OutputTensor& tensor) {
  std::vector<std::byte> bytes = tensor.produce();
  if (bytes.size() != static_cast<std::size_t>(tensor.bytes)) {
    throw output_error(path, fmt::format("tensor \"{}\" produced {} bytes and promised {}",
                                         escaped(tensor.name), bytes.size(), tensor.bytes));
  }
  return bytes;
}

Error output_error(const std::filesystem::path& path, std::string_view what) {
  return {ErrorKind::kOutput, fmt::format("{}: {}", escaped(path.native()), what)};
}

}  // namespace nf4bench::io
