#pragma once

#include "device/devices.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace nf4bench {

// Opens the first CUDA device once; tests are skipped without one.
class GpuTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string problem;
    if (device::cuda_devices(&problem).empty()) return;
    device_ = device::open_cuda_device(0, {});
  }
  static void TearDownTestSuite() { device_.reset(); }

  void SetUp() override {
    if (device_ != nullptr) return;
    if (std::getenv("NF4BENCH_REQUIRE_GPU") != nullptr) FAIL() << "no CUDA device";
    GTEST_SKIP() << "no CUDA device";
  }

  static inline std::unique_ptr<device::Device> device_;
};

}  // namespace nf4bench
