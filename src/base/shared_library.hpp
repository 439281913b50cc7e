#pragma once

#include <memory>
#include <string>

namespace nf4bench {

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

}  // namespace nf4bench
