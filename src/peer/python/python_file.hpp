#pragma once

#include "nf4bench_peer.h"

#include <cstdint>
#include <string>

namespace nf4bench::peer {

// True when `path` ends in .py.
bool is_python_file(const std::string& path);

// Seconds that a file may take to be imported: NF4BENCH_PYTHON_IMPORT_S.
double import_limit_s();

// A flag of a variant in a table that python_table() gives, besides those of the header: it is the
// function NAME through torch.compile, traced whole, and called NAME_compiled.
inline constexpr std::uint32_t kPythonCompiled = std::uint32_t{1} << 31;

// The functions of a Python file as a peer's table; docs/peers.md says which those are. The first
// call loads an interpreter into this process, and each file is imported once. Throws Error(kInput)
// saying why there is no interpreter, or what is wrong with the file.
const nf4bench_peer_table& python_table(const std::string& path);

}  // namespace nf4bench::peer
