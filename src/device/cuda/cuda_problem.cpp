#include "device/cuda/cuda_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nf4bench::device {
namespace {

struct Advice {
  std::string_view name;
  std::string_view text;
};

constexpr std::array kAdvice = {
    Advice{"cudaErrorNoDevice", "check nvidia-smi and CUDA_VISIBLE_DEVICES"},
    Advice{"cudaErrorInvalidDevice", "check CUDA_VISIBLE_DEVICES"},
    Advice{"cudaErrorStubLibrary",
           "the library that was found in place of the driver serves linking only: take its folder "
           "out of LD_LIBRARY_PATH"},
    Advice{"cudaErrorSystemDriverMismatch",
           "the driver's kernel module and its library are of different versions: reboot, or load "
           "the module again"},
    Advice{"cudaErrorCompatNotSupportedOnDevice",
           "the forward compatibility package does not serve this GPU: take it out of "
           "LD_LIBRARY_PATH and install a newer driver"},
    Advice{"cudaErrorSystemNotReady", "nvidia-fabricmanager may not be running"},
    Advice{"cudaErrorDevicesUnavailable",
           "another process has the GPU for itself, or it is set to prohibited; see nvidia-smi"},
    Advice{"cudaErrorMemoryAllocation",
           "close other programs on the GPU or choose smaller tensors (--tensor)"},
    Advice{"cudaErrorNoKernelImageForDevice",
           "this build has no code for this GPU: add its architecture to "
           "CMAKE_CUDA_ARCHITECTURES"},
    Advice{"cudaErrorUnsupportedPtxVersion",
           "the driver is older than the compiler of this program: install a newer one"},
    Advice{"cudaErrorECCUncorrectable",
           "the GPU's memory is damaged; see nvidia-smi -q -d ECC, and the kernel log for an Xid"},
    Advice{"cudaErrorIllegalAddress", "compute-sanitizer shows where a kernel leaves its buffers"},
    Advice{"cudaErrorMisalignedAddress", "compute-sanitizer shows which access it was"},
    Advice{"cudaErrorLaunchTimeout",
           "a display's GPU ends kernels that take seconds; choose one without a display"},
};

std::string_view advice_for(std::string_view name) {
  const auto* const found = std::ranges::find(kAdvice, name, &Advice::name);
  return found == kAdvice.end() ? std::string_view() : found->text;
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string explain_no_device(const CudaProblem& problem, const CudaVersions& versions) {
  if (problem.name == "cudaErrorInsufficientDriver" && versions.driver == 0) {
    return "there is no NVIDIA driver here (libcuda.so.1 cannot be loaded); install one, or give "
           "the container its GPUs";
  }
  if (problem.name == "cudaErrorInsufficientDriver") {
    return fmt::format(
        "the NVIDIA driver is too old: it supports CUDA {}, and this program was built with {}; "
        "install a newer driver, or build with an older CUDA Toolkit",
        cuda_version_text(versions.driver), cuda_version_text(versions.runtime));
  }
  const std::string_view advice = advice_for(problem.name);
  return fmt::format("{} ({}); {}", problem.text, problem.name,
                     advice.empty() ? "check nvidia-smi" : advice);
}

std::string explain_failed_call(std::string_view what, const CudaProblem& problem) {
  const std::string_view advice = advice_for(problem.name);
  return fmt::format("cannot {}: {} ({}){}{}", what, problem.text, problem.name,
                     advice.empty() ? "" : "; ", advice);
}

}  // namespace nf4bench::device
