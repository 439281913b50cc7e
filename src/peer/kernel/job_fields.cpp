#include "peer/kernel/job_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace nf4bench::peer {
namespace {

struct JobField {
  const char* name;
  FieldKind kind;
  std::size_t offset;
  std::size_t bytes;
};

#define FIELD(name, kind) \
  { #name, FieldKind::kind, offsetof(nf4bench_peer_job, name), sizeof(nf4bench_peer_job::name) }
constexpr JobField kFields[] = {
    FIELD(packed, kPointer),        FIELD(absmax, kPointer),     FIELD(absmax_codes, kPointer),
    FIELD(nested_absmax, kPointer), FIELD(nested_map, kPointer), FIELD(nested_offset, kFloat),
    FIELD(block_shift, kInteger),   FIELD(elements, kInteger),   FIELD(blocks, kInteger),
    FIELD(output, kPointer),        FIELD(workspace, kPointer),  FIELD(output_type, kInteger),
    FIELD(nested, kInteger),        FIELD(outputs, kInteger),    FIELD(inputs, kInteger),
    FIELD(tokens, kInteger),        FIELD(input, kPointer),      FIELD(nested_offset_at, kPointer),
    FIELD(experts, kInteger),       FIELD(top_k, kInteger),      FIELD(ids, kPointer),
    FIELD(slot_weights, kPointer),  FIELD(sums_slots, kInteger),
};
#undef FIELD

const JobField* find(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kFields), std::end(kFields),
                                         [&](const JobField& field) { return name == field.name; });
  return found == std::end(kFields) ? nullptr : found;
}

}  // namespace

std::optional<FieldKind> field_kind(const std::string& name) {
  const JobField* const field = find(name);
  return field == nullptr ? std::nullopt : std::optional(field->kind);
}

std::uint64_t field_bits(const nf4bench_peer_job& job, const std::string& name) {
  const JobField& field = *find(name);
  const auto* const at = reinterpret_cast<const unsigned char*>(&job) + field.offset;
  if (field.kind == FieldKind::kInteger && field.bytes == sizeof(std::int32_t)) {
    std::int32_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    return static_cast<std::uint64_t>(std::int64_t{value});
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, field.bytes);
  return bits;
}

}  // namespace nf4bench::peer
