#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::peer {

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
