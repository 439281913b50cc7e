#include "plan/routing_file.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/npy/npy.hpp"

#include <fmt/format.h>

#include <cstring>

namespace nf4bench::plan {
namespace {

[[noreturn]] void refuse(const io::ByteSource& source, const std::string& what) {
  throw Error(ErrorKind::kInput, fmt::format("--routing: {}: {}", source.name(), what));
}

}  // namespace

std::vector<std::int64_t> read_ids(const std::string& path, std::int64_t tokens,
                                   const std::vector<PlannedTensor>& tensors) {
  const io::ByteSource source = io::ByteSource::open(path);
  const io::NpyHeader header = io::read_npy_header(source);
  const bool is_wide = header.type == io::ElementType::kI64;
  if (!is_wide && header.type != io::ElementType::kI32) {
    refuse(source,
           fmt::format("found {} values, wanted int32 or int64", io::facts(header.type).name));
  }
  if (header.shape.size() != 2) {
    refuse(source, fmt::format("found {} dimensions, wanted two: tokens and the experts of each",
                               header.shape.size()));
  }
  const auto top_k = static_cast<std::int64_t>(header.shape[1]);
  if (static_cast<std::int64_t>(header.shape[0]) < tokens) {
    refuse(source,
           fmt::format("has {} tokens, and the run takes {} (--tokens)", header.shape[0], tokens));
  }
  for (const PlannedTensor& planned : tensors) {
    const std::int64_t wanted = planned.source.geometry.stack->top_k;
    if (wanted == top_k) continue;
    refuse(source, fmt::format("has {} experts a token, and tensor \"{}\" takes {} (--top-k)",
                               top_k, escaped(planned.source.name), wanted));
  }
  std::vector<std::int64_t> ids(header.shape[0] * header.shape[1]);
  const std::size_t size = is_wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
  std::vector<std::byte> bytes(ids.size() * size);
  source.read(header.data_begin, bytes);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::int32_t narrow = 0;
    std::memcpy(is_wide ? static_cast<void*>(&ids[i]) : &narrow, bytes.data() + i * size, size);
    if (!is_wide) ids[i] = narrow;
  }
  return ids;
}

}  // namespace nf4bench::plan
