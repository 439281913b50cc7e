#include "peer/kernel/nvrtc.hpp"

#include "base/error.hpp"
#include "peer/embedded.hpp"
#include "peer/source_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace nf4bench::peer {
namespace {

namespace fs = std::filesystem;

// What NVRTC has no file of; its own types are enough for the rest of both headers.
constexpr const char* kStddef = "#pragma once\n";
constexpr const char* kStdint =
    "#pragma once\n"
    "typedef signed char int8_t;\ntypedef unsigned char uint8_t;\n"
    "typedef short int16_t;\ntypedef unsigned short uint16_t;\n"
    "typedef int int32_t;\ntypedef unsigned int uint32_t;\n"
    "typedef long long int64_t;\ntypedef unsigned long long uint64_t;\n";

// The part of nvrtc.h that is used, of all versions since 11.
constexpr int kSuccess = 0;
constexpr int kCompilationFailed = 6;
struct Program;

struct Nvrtc {
  int (*version)(int*, int*);
  const char* (*error_text)(int);
  int (*create)(Program**, const char* text, const char* name, int headers,
                const char* const* contents, const char* const* names);
  int (*destroy)(Program**);
  int (*compile)(Program*, int options, const char* const*);
  int (*add_name)(Program*, const char*);
  int (*lowered_name)(Program*, const char*, const char**);
  int (*log_size)(Program*, std::size_t*);
  int (*log)(Program*, char*);
  int (*cubin_size)(Program*, std::size_t*);
  int (*cubin)(Program*, char*);
  int (*ptx_size)(Program*, std::size_t*);
  int (*ptx)(Program*, char*);
  std::string include;  // folder of the toolkit's headers; empty: none
};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> places() {
  if (const std::string named = variable("NVRTC"); !named.empty()) return {named};
  std::vector<std::string> folders = {""};
  if (const std::string home = variable("CUDA_HOME"); !home.empty()) {
    folders.push_back(home + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  std::vector<std::string> all;
  for (const std::string& folder : folders) {
    for (const char* const version : {"13", "12", "11.2"}) {
      all.push_back(fmt::format("{}libnvrtc.so.{}", folder, version));
    }
  }
  return all;
}

// Of the toolkit that the library at `symbol` lies in, or of the one that is installed.
std::string include_for(const void* symbol) {
  std::vector<fs::path> folders;
  Dl_info found = {};
  if (dladdr(symbol, &found) != 0) {
    const fs::path library = fs::path(found.dli_fname).parent_path();
    folders = {library / "../include", library / "../../../include",
               library / "../../cuda_runtime/include"};
  }
  if (const std::string home = variable("CUDA_HOME"); !home.empty()) {
    folders.push_back(fs::path(home) / "include");
  }
  folders.emplace_back("/usr/local/cuda/include");
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::is_regular_file(folder / "cuda_fp16.h", error)) {
      return folder.lexically_normal().string();
    }
  }
  return "";
}

template <typename Function>
bool find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

Nvrtc open_nvrtc() {
  void* library = nullptr;
  for (const std::string& place : places()) {
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    throw Error(ErrorKind::kInput,
                "needs NVRTC to be compiled, which is not found: install the CUDA Toolkit, or name "
                "libnvrtc.so in the variable NVRTC");
  }
  Nvrtc found = {};
  const bool is_whole = find(library, "nvrtcVersion", found.version) &&
                        find(library, "nvrtcGetErrorString", found.error_text) &&
                        find(library, "nvrtcCreateProgram", found.create) &&
                        find(library, "nvrtcDestroyProgram", found.destroy) &&
                        find(library, "nvrtcCompileProgram", found.compile) &&
                        find(library, "nvrtcAddNameExpression", found.add_name) &&
                        find(library, "nvrtcGetLoweredName", found.lowered_name) &&
                        find(library, "nvrtcGetProgramLogSize", found.log_size) &&
                        find(library, "nvrtcGetProgramLog", found.log) &&
                        find(library, "nvrtcGetCUBINSize", found.cubin_size) &&
                        find(library, "nvrtcGetCUBIN", found.cubin) &&
                        find(library, "nvrtcGetPTXSize", found.ptx_size) &&
                        find(library, "nvrtcGetPTX", found.ptx);
  if (!is_whole) {
    throw Error(ErrorKind::kInput, "needs NVRTC of CUDA 11.2 or later; the one found is older");
  }
  found.include = include_for(reinterpret_cast<const void*>(found.version));
  return found;
}

const Nvrtc& nvrtc() {
  static const Nvrtc opened = open_nvrtc();
  return opened;
}

void require(int result, const char* what) {
  if (result == kSuccess) return;
  throw Error(ErrorKind::kInput, "NVRTC cannot {}: {}", what, nvrtc().error_text(result));
}

class Compilation {
 public:
  Compilation(const std::string& text, const std::string& file,
              const std::vector<std::string>& names) {
    const std::array contents = {kPeerHeader, kKernelHeader, kStddef, kStdint};
    const std::array headers = {"nf4bench_peer.h", "nf4bench_kernel.h", "stddef.h", "stdint.h"};
    require(nvrtc().create(&program_, text.c_str(), file.c_str(), static_cast<int>(headers.size()),
                           contents.data(), headers.data()),
            "take the file");
    for (const std::string& name : names) {
      require(nvrtc().add_name(program_, name.c_str()), "look for a kernel");
    }
  }
  ~Compilation() { nvrtc().destroy(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  int run(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    words.reserve(options.size());
    for (const std::string& option : options) words.push_back(option.c_str());
    return nvrtc().compile(program_, static_cast<int>(words.size()), words.data());
  }
  // Both texts without the zero at their end.
  std::string log() const { return without_end(text(nvrtc().log_size, nvrtc().log)); }
  std::string ptx() const { return without_end(text(nvrtc().ptx_size, nvrtc().ptx)); }
  std::string cubin() const { return text(nvrtc().cubin_size, nvrtc().cubin); }
  std::string symbol(const std::string& name) const {
    const char* lowered = nullptr;
    require(nvrtc().lowered_name(program_, name.c_str(), &lowered), "name a kernel");
    return lowered;
  }

 private:
  static std::string without_end(const std::string& text) {
    return text.substr(0, text.find('\0'));
  }

  std::string text(int (*size)(Program*, std::size_t*), int (*take)(Program*, char*)) const {
    std::size_t bytes = 0;
    require(size(program_, &bytes), "say what it made");
    std::string result(bytes, '\0');
    require(take(program_, result.data()), "give what it made");
    return result;
  }

  Program* program_ = nullptr;
};

// The same of products as nvcc is told, or scales are off in the last bit.
std::vector<std::string> options_for(int compute_capability) {
  std::vector<std::string> options = {
      fmt::format("--gpu-architecture={}", architecture_name(compute_capability)), "--std=c++17",
      "--fmad=false", "-lineinfo", "--ptxas-options=-v"};
  if (!nvrtc().include.empty()) options.push_back("--include-path=" + nvrtc().include);
  return options;
}

}  // namespace

std::string nvrtc_facts() {
  int major = 0;
  int minor = 0;
  nvrtc().version(&major, &minor);
  return fmt::format("nvrtc {}.{}\n{}\n{}", major, minor, nvrtc().include, kKernelHeader);
}

Cubin compile_by_nvrtc(const std::string& text, const std::string& file,
                       const std::vector<std::string>& names, int compute_capability) {
  Compilation compilation(text, file, names);
  const int result = compilation.run(options_for(compute_capability));
  const std::string log = compilation.log();
  if (result == kCompilationFailed) throw compile_error(file, log);
  require(result, "compile for this GPU");
  Cubin made = {.bytes = compilation.cubin(), .ptx = compilation.ptx(), .symbols = {}, .log = log};
  for (const std::string& name : names) made.symbols.push_back(compilation.symbol(name));
  return made;
}

}  // namespace nf4bench::peer
