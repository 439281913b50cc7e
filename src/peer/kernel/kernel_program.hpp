#pragma once

#include "peer/kernel/kernel_facts.hpp"
#include "peer/peer_host.hpp"
#include "variant.hpp"

#include <deque>
#include <string>
#include <vector>

namespace nf4bench::peer {

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

// What the kernels of such a program are called in its machine code; none of other files.
std::vector<std::string> kernel_symbols(const std::string& path);

// The machine code of such a program, or of a library that nvcc made of a .cu file, for
// kernel_facts(): a moment's work of another program. Empty where nothing of it can be counted, or
// there is no disassembler.
std::string disassembled(const std::string& path);

// Of the kernel "KERNEL", or the only one if `kernel` is empty, launched for `problem`; of a
// library that nvcc made of a .cu file library_kernel_facts(). None where `path` is neither or has
// no such kernel. `sass` is what disassembled() gave.
std::vector<KernelFacts> kernel_facts(const std::string& path, const std::string& kernel,
                                      const kernels::Problem& problem,
                                      const kernels::DeviceFacts& device, const std::string& sass);

// The output types that such a program has a kernel for; none of anything else.
std::vector<nf4::OutputType> kernel_types(const std::string& path);

}  // namespace nf4bench::peer
