#pragma once

#include "base/field.hpp"
#include "peer/peer_host.hpp"
#include "variant.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::peer {

// What the compiler says of a kernel.
struct KernelFacts {
  int registers = 0;              // of a thread
  std::int64_t spill_bytes = 0;   // that a thread stores to memory for want of registers
  std::int64_t shared_bytes = 0;  // of a block, without what its directive adds
};

template <Is<KernelFacts> Facts, class F>
void fields(Facts& k, F&& f) {
  f("registers", k.registers);
  f("spill_bytes", k.spill_bytes);
  f("shared_bytes", k.shared_bytes);
}

// True for a .cu file with directives: it has no host code and is compiled by NVRTC.
bool is_kernel_file(const std::string& path);

// A file with the kernels of `path`, from the cache of compilations. Throws CompileError, or
// Error(kInput) when there is no NVRTC or no GPU (`compute_capability` 0).
std::string compiled_kernels(const std::string& path, int compute_capability);

// As keep_compilation().
void keep_kernels(const std::string& path, int compute_capability, const std::string& folder);

// True for what compiled_kernels() gives.
bool is_kernel_program(const std::string& path);

// The variants of such a program for the operation of `host`, called `name` or "`name`.KERNEL";
// there may be none. Throws Error(kInput) when they cannot be loaded.
std::vector<kernels::Variant> kernel_variants(const std::string& path, const std::string& name,
                                              const PeerHost& host,
                                              std::deque<std::string>& strings);

// Of the kernel "KERNEL", or the only one if `kernel` is empty; none where `path` is no such
// program or has no such kernel.
std::optional<KernelFacts> kernel_facts(const std::string& path, const std::string& kernel,
                                        nf4::OutputType type);

}  // namespace nf4bench::peer
