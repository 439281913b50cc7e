#pragma once

#include "peer/peer_host.hpp"
#include "peer/peer_table.hpp"
#include "variant.hpp"

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace nf4bench::peer {

// The variants of a peer's table for the operation and the kind of device of `host`, called `name`
// or "`name`.VARIANT"; there may be none. Their strings are kept in `strings`.
std::vector<kernels::Variant> generic_variants(const std::vector<PeerEntry>& entries,
                                               const std::string& name, const PeerHost& host,
                                               std::deque<std::string>& strings);

// What a variant may ask for, bytes: anything larger cannot be meant.
inline constexpr std::size_t kMostWorkspace = std::size_t{1} << 40;

// A job as the header describes it; of a problem without buffers. `operation` is
// NF4BENCH_PEER_DEQUANTIZE, ...
nf4bench_peer_job peer_job(const kernels::Job& job, int operation);
nf4bench_peer_job peer_job(const kernels::Problem& problem, int operation);

}  // namespace nf4bench::peer
