#pragma once

#include "base/shared_library.hpp"
#include "nf4bench_peer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::peer {

// NF4BENCH_PEER_DEQUANTIZE, ... as operation::Operation names them.
inline constexpr std::array<const char*, 4> kPeerOperations = {"dequantize", "matmul", "experts",
                                                               "backward"};

// Why a variant without NF4BENCH_PEER_LAYERS gets no whole layer.
inline constexpr const char* kNoLayers = "knows the single products of a layer alone";

// Why no peer gets stacks that lie transposed: a job does not say so.
inline constexpr const char* kNoTransposedStacks = "knows no stacks that lie transposed";

// One checked entry of a library's table.
struct PeerEntry {
  const nf4bench_peer_variant* variant = nullptr;  // the library's
  const char* (*error_text)() = nullptr;           // as in nf4bench_peer_table; null: it has none
  std::string name;                                // empty: it has none of its own
  std::string operation;                           // as operation::Operation names it
};

// True when `library` exports the function of a table, of a later version too.
bool has_peer_table(const SharedLibrary& library);

// All entries of the table. Throws Error(kInput) saying which entry breaks which rule of the
// header, or that the version is a later one.
std::vector<PeerEntry> read_peer_table(const SharedLibrary& library);

// The same of a table that python_table() gives.
std::vector<PeerEntry> read_python_table(const nf4bench_peer_table& table);

// `text`, which may be null or have no end, as far as anybody would read it.
std::string bounded_text(const char* text, std::size_t max_chars);

enum class FieldKind : std::uint8_t { kPointer, kInteger, kFloat };

// What a member of nf4bench_peer_job is; none: it has none of this name.
std::optional<FieldKind> field_kind(const std::string& name);

// Its value, in the first bytes: those of a pointer, of a float, or of a 64-bit integer.
std::uint64_t field_bits(const nf4bench_peer_job& job, const std::string& name);

}  // namespace nf4bench::peer
