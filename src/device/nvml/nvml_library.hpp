#pragma once

// The loaded library behind Nvml; for the sources that implement it only. What is used of its C
// interface is declared here (docs.nvidia.com/deploy/nvml-api).

#include "device/nvml/nvml.hpp"

#include <dlfcn.h>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::device {

struct Nvml::Library {
  using Handle = void*;

  // nvmlReturn_t, as far as it matters here.
  static constexpr int kSuccess = 0;
  static constexpr int kInvalidArgument = 2;
  static constexpr int kNotSupported = 3;
  static constexpr int kInsufficientSize = 7;
  static constexpr int kFunctionNotFound = 13;

  // nvmlClockType_t
  static constexpr int kSmClock = 1;
  static constexpr int kMemoryClock = 2;

  void* handle = nullptr;
  Handle device = nullptr;
  std::string problem;

  ~Library() {
    if (handle == nullptr) return;
    call<>("nvmlShutdown");
    dlclose(handle);
  }

  // Calls the function `name` and returns its answer.
  template <class... Arguments>
  int status(const char* name, Arguments... arguments) const {
    if (handle == nullptr) return kFunctionNotFound;
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle, name));
    return function == nullptr ? kFunctionNotFound : function(arguments...);
  }

  // The same; false when the function is missing or fails.
  template <class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    return status(name, arguments...) == kSuccess;
  }

  // An unsigned reading of the device, scaled.
  template <class... Arguments>
  std::optional<double> reading(const char* name, double scale, Arguments... arguments) const {
    unsigned value = 0;
    if (device == nullptr || !call(name, device, arguments..., &value)) return std::nullopt;
    return value * scale;
  }

  // What slows the device down now; absent when the driver does not tell.
  std::optional<std::vector<std::string>> throttle_reasons() const;
};

}  // namespace nf4bench::device
