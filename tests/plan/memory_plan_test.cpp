#include "bench/fake_run.hpp"
#include "error_of.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/matmul.hpp"
#include "plan/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace nf4bench {
namespace {

using test::error_of;
using testing::HasSubstr;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

plan::TensorSource source_of(std::int64_t elements, nf4::AbsmaxKind kind) {
  plan::TensorSource source;
  source.name = std::string("w");
  source.geometry.shape = {elements};
  source.geometry.absmax_kind = kind;
  return source;
}

plan::MemoryNeed need_of(const plan::TensorSource& source, nf4::OutputType type,
                         record::DeviceKind kind,
                         record::VerifyScope scope = record::VerifyScope::kAll,
                         bool is_timed = false) {
  record::RunOptions options;
  options.output_types = {type};
  const operation::Operation& operation = operation::dequantize();
  const auto problems = plan::problems_of(operation, source, options);
  EXPECT_EQ(problems.size(), 1u);
  return plan::memory_need(operation, problems.front(), {kind, scope, is_timed});
}

std::string refusal(const plan::TensorSource& source, const record::DeviceInfo& device,
                    std::int64_t host, ErrorKind kind) {
  record::RunOptions options;
  options.output_types = {nf4::OutputType::kFloat32};
  return error_of(kind, [&] {
    plan::check_memory(operation::dequantize(),
                       plan::plan_tensors({source}, plan::TensorChoice::kAll), options,
                       {device, host});
  });
}

record::DeviceInfo gpu_of(std::int64_t bytes) {
  record::DeviceInfo info;
  info.kind = record::DeviceKind::kCuda;
  info.id = "cuda:0";
  info.memory_bytes = bytes;
  return info;
}

// The inputs of a tensor are what bytes_read() counts once it is loaded.
TEST(MemoryPlan, CountsWhatATensorReallyHas) {
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
    for (const std::int64_t elements : {1, 63, 65, 4096, 100'000}) {
      const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {elements}, .absmax_kind = kind});
      const plan::MemoryNeed need =
          need_of(source_of(elements, kind), nf4::OutputType::kFloat16, record::DeviceKind::kCuda);
      EXPECT_EQ(need.host_bytes, nf4::bytes_read(tensor) + 2 * elements) << elements;
      EXPECT_EQ(need.device_bytes, nf4::bytes_read(tensor) + 4 * elements) << elements;
    }
  }
}

TEST(MemoryPlan, OfTheCpuDeviceAddsItsBuffersToTheHosts) {
  const plan::TensorSource source = source_of(4096, nf4::AbsmaxKind::kPlain);
  const plan::MemoryNeed need =
      need_of(source, nf4::OutputType::kFloat32, record::DeviceKind::kCpu);
  EXPECT_EQ(need.host_bytes, 2 * (2048 + 4 * 64 + 4 * 4096));
  EXPECT_EQ(need.device_bytes, 0);
}

// Timed buffer sets hold the tensor or its sibling, and outputs are held to the reference of each.
TEST(MemoryPlan, OfATimedTensorCountsItsSibling) {
  const plan::TensorSource source = source_of(4096, nf4::AbsmaxKind::kPlain);
  const auto need = [&](bool is_timed) {
    return need_of(source, nf4::OutputType::kFloat32, record::DeviceKind::kCuda,
                   record::VerifyScope::kAll, is_timed);
  };
  EXPECT_EQ(need(true).host_bytes, 2 * need(false).host_bytes);
  EXPECT_EQ(need(true).device_bytes - need(false).device_bytes, 4 * 4096);
}

TEST(MemoryPlan, WhenSampledNeedsLittleOfTheReference) {
  const plan::TensorSource source = source_of(std::int64_t{1} << 30, nf4::AbsmaxKind::kNested);
  const auto need = [&](record::VerifyScope scope) {
    return need_of(source, nf4::OutputType::kFloat16, record::DeviceKind::kCuda, scope)
        .device_bytes;
  };
  EXPECT_EQ(need(record::VerifyScope::kAll) - need(record::VerifyScope::kSampled),
            2 * ((std::int64_t{1} << 30) - (16 << 20)));
}

TEST(MemoryPlan, RefusesWhatTheDeviceCanNeverHold) {
  // 100 elements as float32, plain: 50 + 8 + 400 bytes, and 400 for each of two comparisons.
  const plan::TensorSource source = source_of(100, nf4::AbsmaxKind::kPlain);
  EXPECT_EQ(refusal(source, gpu_of(1258), kHuge, ErrorKind::kDevice), "");
  EXPECT_EQ(refusal(source, gpu_of(1257), kHuge, ErrorKind::kDevice),
            "tensor \"w\" as float32 needs 1258 bytes of memory on cuda:0 at least, and there are "
            "1257; choose smaller tensors (--tensor) or a smaller type (--dtype)");
}

TEST(MemoryPlan, AdvisesFewerTokensWhereThereAreSome) {
  plan::TensorSource source = source_of(64, nf4::AbsmaxKind::kPlain);
  source.geometry.shape = {64, 64};
  record::RunOptions options;
  options.output_types = {nf4::OutputType::kFloat16};
  options.tokens = {512};
  const std::string error = error_of(ErrorKind::kDevice, [&] {
    plan::check_memory(operation::matmul(), plan::plan_tensors({source}, plan::TensorChoice::kAll),
                       options, {gpu_of(1000), kHuge});
  });
  EXPECT_THAT(error, HasSubstr("as float16 with 512 tokens needs"));
  EXPECT_THAT(error, HasSubstr(", fewer tokens (--tokens) or a smaller"));
}

TEST(MemoryPlan, RefusesWhatTheHostCanNeverHold) {
  const plan::TensorSource source = source_of(100, nf4::AbsmaxKind::kPlain);
  EXPECT_EQ(refusal(source, gpu_of(kHuge), 916, ErrorKind::kInput), "");
  EXPECT_THAT(refusal(source, gpu_of(kHuge), 915, ErrorKind::kInput),
              HasSubstr("916 bytes of memory on "
                        "the host"));
}

TEST(MemoryPlan, LooksAtTensorsThatAreOnlyVerified) {
  plan::TensorSource other = source_of(100, nf4::AbsmaxKind::kPlain);
  std::vector<plan::PlannedTensor> planned =
      plan::plan_tensors({source_of(10, nf4::AbsmaxKind::kPlain)}, plan::TensorChoice::kAll);
  planned.front().verify_also = {other};
  record::RunOptions options;
  options.output_types = {nf4::OutputType::kFloat32};
  const record::DeviceInfo gpu = gpu_of(kHuge);
  EXPECT_THROW(plan::check_memory(operation::dequantize(), planned, options, {gpu, 457}), Error);
  options.verify = record::VerifyScope::kSampled;
  EXPECT_NO_THROW(plan::check_memory(operation::dequantize(), planned, options, {gpu, 457}));
}

}  // namespace
}  // namespace nf4bench
