#include "plan/memory_plan.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "bench/fake_run.hpp"
#include "nf4/synthetic.hpp"

namespace nf4bench {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TensorSource source_of(std::int64_t elements, AbsmaxKind kind) {
  TensorSource source;
  source.name = std::string("w");
  source.shape = {elements};
  source.elements = elements;
  source.absmax_kind = kind;
  return source;
}

std::string refusal(const TensorSource& source, const DeviceInfo& device, std::int64_t host,
                    ErrorKind kind) {
  RunOptions options;
  options.output_types = {OutputType::kFloat32};
  try {
    check_memory(plan_tensors({source}, TensorChoice::kAll), options, device, host);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "";
}

DeviceInfo gpu_of(std::int64_t bytes) {
  DeviceInfo info;
  info.kind = DeviceKind::kCuda;
  info.id = "cuda:0";
  info.memory_bytes = bytes;
  return info;
}

// The inputs of a tensor are what bytes_read() counts once it is loaded.
TEST(MemoryPlan, CountsWhatATensorReallyHas) {
  for (const AbsmaxKind kind : {AbsmaxKind::kPlain, AbsmaxKind::kNested}) {
    for (const std::int64_t elements : {1, 63, 65, 4096, 100'000}) {
      const Nf4Tensor tensor = make_synthetic({.shape = {elements}, .absmax_kind = kind});
      const MemoryNeed need = memory_need(source_of(elements, kind), OutputType::kFloat16,
                                          DeviceKind::kCuda, VerifyScope::kAll);
      EXPECT_EQ(need.host_bytes, bytes_read(tensor) + 2 * elements) << elements;
      EXPECT_EQ(need.device_bytes, bytes_read(tensor) + 4 * elements) << elements;
    }
  }
}

TEST(MemoryPlan, OfTheCpuDeviceAddsItsBuffersToTheHosts) {
  const TensorSource source = source_of(4096, AbsmaxKind::kPlain);
  const MemoryNeed need =
      memory_need(source, OutputType::kFloat32, DeviceKind::kCpu, VerifyScope::kAll);
  EXPECT_EQ(need.host_bytes, 2 * (2048 + 4 * 64 + 4 * 4096));
  EXPECT_EQ(need.device_bytes, 0);
}

TEST(MemoryPlan, WhenSampledNeedsLittleOfTheReference) {
  const TensorSource source = source_of(std::int64_t{1} << 30, AbsmaxKind::kNested);
  const auto need = [&](VerifyScope scope) {
    return memory_need(source, OutputType::kFloat16, DeviceKind::kCuda, scope).device_bytes;
  };
  EXPECT_EQ(need(VerifyScope::kAll) - need(VerifyScope::kSampled),
            2 * ((std::int64_t{1} << 30) - (16 << 20)));
}

TEST(MemoryPlan, RefusesWhatTheDeviceCanNeverHold) {
  // 100 elements as float32, plain: 50 + 8 + 400 bytes, and 400 for the comparison.
  const TensorSource source = source_of(100, AbsmaxKind::kPlain);
  EXPECT_EQ(refusal(source, gpu_of(858), kHuge, ErrorKind::kDevice), "");
  EXPECT_EQ(refusal(source, gpu_of(857), kHuge, ErrorKind::kDevice),
            "tensor \"w\" as float32 needs 858 bytes of memory on cuda:0 at least, and there are "
            "857; choose smaller tensors (--tensor) or a smaller type (--dtype)");
}

TEST(MemoryPlan, RefusesWhatTheHostCanNeverHold) {
  const TensorSource source = source_of(100, AbsmaxKind::kPlain);
  EXPECT_EQ(refusal(source, gpu_of(kHuge), 458, ErrorKind::kInput), "");
  EXPECT_NE(refusal(source, gpu_of(kHuge), 457, ErrorKind::kInput)
                .find("458 bytes of memory on "
                      "the host"),
            std::string::npos);
}

TEST(MemoryPlan, LooksAtTensorsThatAreOnlyVerified) {
  TensorSource other = source_of(100, AbsmaxKind::kPlain);
  std::vector<PlannedTensor> planned =
      plan_tensors({source_of(10, AbsmaxKind::kPlain)}, TensorChoice::kAll);
  planned.front().verify_also = {other};
  RunOptions options;
  options.output_types = {OutputType::kFloat32};
  EXPECT_THROW(check_memory(planned, options, gpu_of(kHuge), 457), Error);
  options.verify = VerifyScope::kSampled;
  EXPECT_NO_THROW(check_memory(planned, options, gpu_of(kHuge), 457));
}

}  // namespace
}  // namespace nf4bench
