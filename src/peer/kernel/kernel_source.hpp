#pragma once

#include "nf4/format.hpp"
#include "peer/source_file.hpp"

#include <string>
#include <vector>

namespace nf4bench::peer {

// A kernel of a .cu file that has no host code: a directive above it says how it is launched, and
// the names of its parameters what it takes. docs/trying-a-kernel.md is the guide.
struct KernelSource {
  std::string name;
  int line = 0;       // of the directive
  int operation = 0;  // NF4BENCH_PEER_DEQUANTIZE, ...
  std::vector<nf4::OutputType> types;
  bool is_template = false;  // of the type of its output
  bool takes_plain = true;
  bool takes_nested = true;
  std::vector<std::string> parameters;  // members of nf4bench_peer_job; "job": all of it
  std::vector<std::string> narrow;      // those that are integers of 32 bits
  // Expressions for evaluate(): one to three sizes each, and bytes.
  std::vector<std::string> grid;
  std::vector<std::string> block;
  std::string shared = "0";
  std::string workspace = "0";
};

// True when `text` has a directive, a line comment that begins with "nf4bench:".
bool has_directive(const std::string& text);

// All kernels of `text`, at least one. Throws CompileError, with the line in `file`, for a
// directive or a parameter that means nothing, and for a kernel without a directive.
std::vector<KernelSource> kernels_in(const std::string& text, const std::string& file);

}  // namespace nf4bench::peer
