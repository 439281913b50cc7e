#pragma once

#include "nf4bench_peer.h"
#include "peer/shared_library.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::peer {

// A version of nf4bench_peer.h, of which the structs of each begin as those of the one before.
struct PeerVersion {
  std::uint32_t abi = 0;
  const char* entry_point = nullptr;
  std::uint32_t job_bytes = 0;    // of nf4bench_peer_job, as far as its libraries know it
  std::uint32_t table_bytes = 0;  // of nf4bench_peer_table; 0 where the table does not say it
  std::size_t operations = 0;     // how many of the header's it knows
};

// One checked entry of a library's table.
struct PeerEntry {
  const nf4bench_peer_variant* variant = nullptr;  // the library's
  const PeerVersion* version = nullptr;
  const char* (*error_text)() = nullptr;  // as in nf4bench_peer_table; null: it has none
  std::string name;                       // empty: it has none of its own
  std::string operation;                  // as operation::Operation names it
};

// True when `library` exports the function of any version, of later ones too.
bool has_peer_table(const SharedLibrary& library);

// All entries of the table of the latest version that is known here. Throws Error(kInput) saying
// which entry breaks which rule of the header, or that the version is not known.
std::vector<PeerEntry> read_peer_table(const SharedLibrary& library);

// The same of a table of the latest version that is there already.
std::vector<PeerEntry> read_peer_table(const nf4bench_peer_table& table);

// `text`, which may be null or have no end, as far as anybody would read it.
std::string bounded_text(const char* text, std::size_t max_chars);

}  // namespace nf4bench::peer
