#pragma once

#include "nf4bench_peer.h"

#include <cstdint>
#include <optional>
#include <string>

namespace nf4bench::peer {

enum class FieldKind : std::uint8_t { kPointer, kInteger, kFloat };

// What a member of nf4bench_peer_job is; none: it has none of this name.
std::optional<FieldKind> field_kind(const std::string& name);

// Its value, in the first bytes: those of a pointer, of a float, or of a 64-bit integer.
std::uint64_t field_bits(const nf4bench_peer_job& job, const std::string& name);

}  // namespace nf4bench::peer
