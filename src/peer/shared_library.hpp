#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::peer {

// Throws Error(kInput) unless `path` leads to one. To be asked before code is loaded from there,
// because opening a pipe would wait for a writer.
void require_regular_file(const std::string& path);

// A library loaded at run time, its symbols visible to nobody else.
class SharedLibrary {
 public:
  // Throws Error(kInput) saying why `path` cannot be loaded.
  explicit SharedLibrary(const std::string& path);

  // The address of `symbol`, or null.
  void* find(const char* symbol) const;

  // The library stays until the process ends: its code is in use, and CUDA libraries do not survive
  // being unloaded before the driver is.
  void keep() { static_cast<void>(handle_.release()); }

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  std::unique_ptr<void, Close> handle_;
  void* borrowed_ = nullptr;  // still usable after keep()
};

// The architectures (90 for sm_90) for which a library holds GPU code, as CUDA's fat binaries list
// them; sorted, each once. Empty when there is none, or when its form is not known.
struct GpuCode {
  std::vector<int> binaries;
  std::vector<int> ptx;

  // True unless all of the code is known to be for other devices.
  bool may_run_on(int compute_capability) const;
};

GpuCode gpu_code_of(std::span<const std::byte> library);

// Throws Error(kInput) when the library at `path` has code only for other devices. To be called
// before anything is launched, because bitsandbytes ends the whole process when a launch fails. 0
// is an unknown device.
void require_gpu_code(const std::string& path, int compute_capability);

}  // namespace nf4bench::peer
