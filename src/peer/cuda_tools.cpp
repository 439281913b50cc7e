#include "peer/cuda_tools.hpp"

#include "cuda/default_stream.hpp"
#include "cuda/dequantize/add_offset.hpp"
#include "cuda/device_codebook.hpp"
#include "cuda/driver.hpp"
#include "cuda/matmul/decode_cublas.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace nf4bench::peer {
namespace {

using kernels::cuda::driver_function;

struct Driver {
  decltype(&cuLibraryLoadData) load =
      driver_function<decltype(cuLibraryLoadData)>("cuLibraryLoadData");
  decltype(&cuLibraryGetKernel) find =
      driver_function<decltype(cuLibraryGetKernel)>("cuLibraryGetKernel");
  decltype(&cuKernelGetFunction) enter =
      driver_function<decltype(cuKernelGetFunction)>("cuKernelGetFunction");
  decltype(&cuFuncSetAttribute) set =
      driver_function<decltype(cuFuncSetAttribute)>("cuFuncSetAttribute");
  decltype(&cuLaunchKernel) launch = driver_function<decltype(cuLaunchKernel)>("cuLaunchKernel");
  decltype(&cuGetErrorString) text =
      driver_function<decltype(cuGetErrorString)>("cuGetErrorString");

  bool is_whole() const {
    return load != nullptr && find != nullptr && enter != nullptr && set != nullptr &&
           launch != nullptr && text != nullptr;
  }
  std::string problem(CUresult result) const {
    if (result == CUDA_SUCCESS) return "";
    const char* words = nullptr;
    text(result, &words);
    return words == nullptr ? "the driver gives no reason" : words;
  }
};

const Driver& the_driver() {
  static const Driver driver;
  return driver;
}

// The function of the current context is asked for at once: a graph's capture must not load code.
LoadedKernel load_kernel(const std::string& cubin, const char* symbol) {
  const Driver& driver = the_driver();
  if (!driver.is_whole()) return {nullptr, "the driver is older than CUDA 12"};
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUresult result = driver.load(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == CUDA_SUCCESS) result = driver.find(&kernel, library, symbol);
  if (result == CUDA_SUCCESS) result = driver.enter(&function, kernel);
  return {function, driver.problem(result)};
}

std::string launch_kernel(const KernelLaunch& launch, CUstream_st* stream) {
  constexpr unsigned kWithoutAsking = 48 << 10;
  const Driver& driver = the_driver();
  auto* const function = static_cast<CUfunction>(launch.function);
  CUresult result = CUDA_SUCCESS;
  if (launch.shared_bytes > kWithoutAsking) {
    result = driver.set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                        static_cast<int>(launch.shared_bytes));
  }
  if (result == CUDA_SUCCESS) {
    result = driver.launch(function, launch.grid[0], launch.grid[1], launch.grid[2],
                           launch.block[0], launch.block[1], launch.block[2], launch.shared_bytes,
                           stream, launch.arguments, nullptr);
  }
  return driver.problem(result);
}

}  // namespace

std::optional<CudaTools> cuda_tools() {
  return CudaTools{
      .for_bitsandbytes = {.add_offset = kernels::cuda::launch_add_offset,
                           .default_stream_waits_for = kernels::cuda::default_stream_waits_for,
                           .wait_for_default_stream = kernels::cuda::wait_for_default_stream,
                           .codebook = kernels::cuda::device_codebook,
                           .decode_then_cublas = kernels::cuda::decode_then_cublas},
      .load_kernel = load_kernel,
      .launch_kernel = launch_kernel};
}

}  // namespace nf4bench::peer
