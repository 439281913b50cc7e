#pragma once

#include "base/error.hpp"

#include <string>
#include <utility>
#include <vector>

namespace nf4bench::peer {
// True when `path` ends in .cpp or .cu.
bool is_source_file(const std::string& path);

// An error that a compiler found.
struct Diagnostic {
  std::string file;  // empty: it lies nowhere, as a missing function does
  int line = 0;
  int column = 0;  // 0: it was not said
  std::string message;
};

// A source file that does not compile.
class CompileError : public Error {
 public:
  CompileError(const std::string& message, std::vector<Diagnostic> found, std::string log)
      : Error(ErrorKind::kInput, message), found_(std::move(found)), log_(std::move(log)) {}

  const std::vector<Diagnostic>& found() const { return found_; }
  const std::string& log() const { return log_; }  // all that the compiler said

 private:
  std::vector<Diagnostic> found_;
  std::string log_;
};

// The errors in what g++, clang, nvcc or NVRTC said.
std::vector<Diagnostic> errors_in(const std::string& log);

// What is thrown for a `path` of which a compiler said `log`.
CompileError compile_error(const std::string& path, const std::string& log);

// "sm_90a": with all that GPUs of this compute capability have.
std::string architecture_name(int compute_capability);

// What the compiler makes of `path`, for GPUs of `compute_capability` (0: those of this machine): a
// shared library by c++ or what CXX names for .cpp, by nvcc or what NVCC names for .cu; of a .cu
// file with directives (kernel/kernel_source.hpp) what NVRTC makes of it, for kernel_variants().
// nf4bench_peer.h and nf4bench_kernel.h are found by themselves. What was compiled before is kept,
// see CompileCache. Throws CompileError, or Error(kInput) when there is no file or no compiler.
std::string compiled_library(const std::string& path, int compute_capability = 0);

// Writes into `folder`, which exists: the file, what the compiler says of it in compiler.log, and
// what it makes of it in assembly: NAME.s; of CUDA NAME.ptx, and NAME.sass where the toolkit has a
// disassembler.
void keep_compilation(const std::string& path, int compute_capability, const std::string& folder);

// What cuobjdump says of a file with code for GPUs; empty where there is no cuobjdump.
std::string sass_of(const std::string& cubin);

// NAME.sass beside NAME.cubin, where the toolkit has a disassembler.
void keep_sass(const std::string& cubin);

// True when `path` ends in .json: a solution as SOL-ExecBench and FlashInfer-Bench have it.
bool is_solution_file(const std::string& path);

struct Solution {
  std::string file;        // of its entry point ("kernel.cu::run"), a peer itself
  std::string name;        // empty: it has none
  std::string definition;  // the name of the problem that it solves; empty: it names none
};

// All its files are written beside each other, in the cache of compiled files and by their content.
// Throws Error(kInput) when it is no solution, or when a file would lie elsewhere.
Solution unpacked_solution(const std::string& path);

}  // namespace nf4bench::peer
