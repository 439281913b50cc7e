#include "device/cuda/cuda_problem.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

TEST(CudaProblem, WithoutADriverSaysThatThereIsNone) {
  EXPECT_EQ(device::explain_no_device({"cudaErrorInsufficientDriver",
                                       "CUDA driver version is insufficient "
                                       "for CUDA runtime version"},
                                      {.driver = 0, .runtime = 13000}),
            "there is no NVIDIA driver here (libcuda.so.1 cannot be loaded); install one, or give "
            "the container its GPUs");
}

TEST(CudaProblem, OfAnOldDriverNamesBothVersions) {
  EXPECT_EQ(device::explain_no_device({"cudaErrorInsufficientDriver", "..."},
                                      {.driver = 12040, .runtime = 13000}),
            "the NVIDIA driver is too old: it supports CUDA 12.4, and this program was built with "
            "13.0; install a newer driver, or build with an older CUDA Toolkit");
}

TEST(CudaProblem, OfNoDeviceSaysWhereToLook) {
  EXPECT_EQ(device::explain_no_device({"cudaErrorNoDevice", "no CUDA-capable device is detected"},
                                      {.driver = 13000, .runtime = 13000}),
            "no CUDA-capable device is detected (cudaErrorNoDevice); check nvidia-smi and "
            "CUDA_VISIBLE_DEVICES");
}

TEST(CudaProblem, OfAnUnknownKindPointsToNvidiaSmi) {
  EXPECT_EQ(device::explain_no_device({"cudaErrorNew", "something new"}, {}),
            "something new (cudaErrorNew); check nvidia-smi");
}

TEST(CudaProblem, OfACallSaysWhatFailedAndWhatToDo) {
  EXPECT_EQ(device::explain_failed_call(
                "launch the kernel", {"cudaErrorNoKernelImageForDevice",
                                      "no kernel image is available for execution on the device"}),
            "cannot launch the kernel: no kernel image is available for execution on the device "
            "(cudaErrorNoKernelImageForDevice); this build has no code for this GPU: add its "
            "architecture to CMAKE_CUDA_ARCHITECTURES");
  EXPECT_EQ(device::explain_failed_call("wait for the stream",
                                        {"cudaErrorLaunchFailure", "unspecified launch failure"}),
            "cannot wait for the stream: unspecified launch failure (cudaErrorLaunchFailure)");
}

TEST(CudaProblem, VersionsHaveAMajorAndAMinorNumber) {
  EXPECT_EQ(device::cuda_version_text(13000), "13.0");
  EXPECT_EQ(device::cuda_version_text(11080), "11.8");
}

}  // namespace
}  // namespace nf4bench
