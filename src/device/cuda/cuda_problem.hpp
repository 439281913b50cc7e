#pragma once

// What CUDA's errors mean to whoever reads them. Knows them by the names that cudaGetErrorName()
// gives, and so needs neither CUDA nor a GPU.

#include <string>
#include <string_view>

namespace nf4bench::device {

// An error as CUDA describes it: "cudaErrorNoDevice", "no CUDA-capable device is detected".
struct CudaProblem {
  std::string_view name;
  std::string_view text;
};

// CUDA versions as CUDA gives them, 1000 * major + 10 * minor; 0 for none.
struct CudaVersions {
  int driver = 0;   // what the installed driver supports
  int runtime = 0;  // what this program was built with
};

// Why no device can be had, and what to do, in one line.
std::string explain_no_device(const CudaProblem& problem, const CudaVersions& versions);

// That `what` failed ("launch the kernel"), why, and what to do where that is known; in one line.
std::string explain_failed_call(std::string_view what, const CudaProblem& problem);

// "13.0".
std::string cuda_version_text(int version);

}  // namespace nf4bench::device
