#pragma once

#include <string>
#include <vector>

namespace nf4bench::peer {

// What NVRTC makes of a file of kernels. It is found at run time: NVRTC names its library, else it
// lies where the dynamic linker looks, in CUDA_HOME or in /usr/local/cuda.
struct Cubin {
  std::string bytes;
  std::string ptx;
  std::vector<std::string> symbols;  // of the names that were asked for
  std::string log;                   // with what ptxas says of each kernel
};

// What the library is, for a cache: its version and where its headers are. Throws Error(kInput)
// when there is none.
std::string nvrtc_facts();

// Compiles `text`, called `file` in messages, for GPUs of `compute_capability`, and `names`, as
// "kernel<__half>", out of it. nf4bench_peer.h and nf4bench_kernel.h are found by themselves, and
// those of the CUDA Toolkit where it is installed. Throws CompileError, or Error(kInput) when NVRTC
// is missing or does not know such a GPU.
Cubin compile_by_nvrtc(const std::string& text, const std::string& file,
                       const std::vector<std::string>& names, int compute_capability);

}  // namespace nf4bench::peer
