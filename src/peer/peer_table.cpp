#include "peer/peer_table.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "peer/peer_argument.hpp"
#include "peer/python/python_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <tuple>

namespace nf4bench::peer {
namespace {

constexpr const char* kEntryPoint = "nf4bench_peer_v2";
constexpr std::uint32_t kLastImaginable = 9;

// By the header's numbers.

constexpr std::uint32_t kMaxVariants = 1000;
constexpr std::uint32_t kMaxStructBytes = 4096;
constexpr std::size_t kMaxNameChars = 65;  // one more than a name may have
constexpr std::uint32_t kKnownFlags = NF4BENCH_PEER_NOT_CAPTURABLE | NF4BENCH_PEER_INLINE_PTX |
                                      NF4BENCH_PEER_CACHE_HINTS | NF4BENCH_PEER_LAYERS;

// The exported function of a version that is not known here; empty when there is none.
std::string later_entry_point(const SharedLibrary& library) {
  for (std::uint32_t abi = NF4BENCH_PEER_ABI + 1; abi <= kLastImaginable; ++abi) {
    std::string entry_point = fmt::format("nf4bench_peer_v{}", abi);
    if (library.find(entry_point.c_str()) != nullptr) return entry_point;
  }
  return "";
}

// Throws Error(kInput) unless `bytes`, which the table says of a struct, can be right: at least the
// `known` bytes that this program knows of it.
void check_bytes(const char* field, std::uint32_t bytes, std::size_t known, const char* type) {
  if (bytes >= known && bytes <= kMaxStructBytes && bytes % alignof(void*) == 0) return;
  throw Error(ErrorKind::kInput, "has {} {}, wanted sizeof({}), which is {} here", field, bytes,
              type, known);
}

const nf4bench_peer_table& table_of(const SharedLibrary& library) {
  using EntryPoint = const nf4bench_peer_table* (*)();
  const auto entry_point = reinterpret_cast<EntryPoint>(library.find(kEntryPoint));
  const nf4bench_peer_table* const table = entry_point();
  if (table == nullptr) {
    throw Error(ErrorKind::kInput, "{}() returned NULL", kEntryPoint);
  }
  return *table;
}

// Throws Error(kInput) saying what is wrong with the table's header.
void check_header(const nf4bench_peer_table& table) {
  if (table.abi != NF4BENCH_PEER_ABI) {
    throw Error(ErrorKind::kInput,
                "has ABI version {}, wanted {} from {}(); build it with the nf4bench_peer.h of "
                "that version",
                table.abi, NF4BENCH_PEER_ABI, kEntryPoint);
  }
  check_bytes("table_bytes", table.table_bytes, offsetof(nf4bench_peer_table, error_text),
              "nf4bench_peer_table");
  check_bytes("variant_bytes", table.variant_bytes, sizeof(nf4bench_peer_variant),
              "nf4bench_peer_variant");
  if (table.variant_count == 0 || table.variant_count > kMaxVariants || table.variants == nullptr) {
    throw Error(ErrorKind::kInput, "offers {} variants{}; wanted 1 to {}", table.variant_count,
                table.variants == nullptr ? " at NULL" : "", kMaxVariants);
  }
}

// Null when the table ends before it, or has none.
const char* (*error_text_of(const nf4bench_peer_table& table))() {
  return table.table_bytes >= sizeof(nf4bench_peer_table) ? table.error_text : nullptr;
}

// Entries may be larger than ours, when the library's header is newer.
const nf4bench_peer_variant& variant_at(const nf4bench_peer_table& table, std::uint32_t index) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(table.variants);
  const std::size_t offset = std::size_t{index} * table.variant_bytes;
  return *reinterpret_cast<const nf4bench_peer_variant*>(bytes + offset);
}

// What is wrong with an entry; empty when nothing is.
std::string problem_of(const nf4bench_peer_variant& variant, std::uint32_t known_flags) {
  const std::string name = bounded_text(variant.name, kMaxNameChars);
  if (!name.empty() && !is_peer_name(name)) {
    return fmt::format("its name \"{}\" is not 1 to 64 letters, digits, _ or -", escaped(name));
  }
  if (variant.device != NF4BENCH_PEER_CPU && variant.device != NF4BENCH_PEER_CUDA) {
    return fmt::format("its device is {}, wanted {} (CPU) or {} (CUDA)", variant.device,
                       int{NF4BENCH_PEER_CPU}, int{NF4BENCH_PEER_CUDA});
  }
  if (variant.operation < 0 ||
      static_cast<std::size_t>(variant.operation) >= kPeerOperations.size()) {
    return fmt::format("its operation is {}, wanted 0 ({}), 1 ({}), 2 ({}) or 3 ({})",
                       variant.operation, kPeerOperations[0], kPeerOperations[1],
                       kPeerOperations[2], kPeerOperations[3]);
  }
  if ((variant.flags & ~known_flags) != 0) {
    return fmt::format("its flags {:#x} hold unknown bits", variant.flags);
  }
  if (variant.launches < 0) return fmt::format("its launches are {}", variant.launches);
  if (variant.launch == nullptr) return "its launch() is NULL";
  return "";
}

std::vector<PeerEntry> read_entries(const nf4bench_peer_table& table, std::uint32_t known_flags) {
  check_header(table);
  std::vector<PeerEntry> entries;
  std::set<std::tuple<int, int, std::string>> taken;
  for (std::uint32_t i = 0; i < table.variant_count; ++i) {
    const nf4bench_peer_variant& variant = variant_at(table, i);
    if (const std::string problem = problem_of(variant, known_flags); !problem.empty()) {
      throw Error(ErrorKind::kInput, "variant {} of its table: {}", i, problem);
    }
    std::string name = bounded_text(variant.name, kMaxNameChars);
    if (!taken.emplace(variant.device, variant.operation, name).second) {
      throw Error(ErrorKind::kInput, "variant {} of its table: its name \"{}\" is taken", i, name);
    }
    entries.push_back({.variant = &variant,
                       .error_text = error_text_of(table),
                       .name = std::move(name),
                       .operation = kPeerOperations[static_cast<std::size_t>(variant.operation)]});
  }
  return entries;
}

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

bool has_peer_table(const SharedLibrary& library) {
  return library.find(kEntryPoint) != nullptr || !later_entry_point(library).empty();
}

std::vector<PeerEntry> read_peer_table(const SharedLibrary& library) {
  if (library.find(kEntryPoint) == nullptr) {
    throw Error(ErrorKind::kInput, "exports {}, of a later version than the {} that is known here",
                later_entry_point(library), NF4BENCH_PEER_ABI);
  }
  return read_entries(table_of(library), kKnownFlags);
}

std::vector<PeerEntry> read_python_table(const nf4bench_peer_table& table) {
  return read_entries(table, kKnownFlags | kPythonCompiled);
}

std::string bounded_text(const char* text, std::size_t max_chars) {
  return text == nullptr ? "" : std::string(text, strnlen(text, max_chars));
}

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
