// The real libbitsandbytes, when NF4BENCH_BITSANDBYTES names one: its chain and its last launch
// alone are exact, and what was prepared for the latter survives the other variants.

#include "gpu_fixture.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"
#include "peer/peers.hpp"

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

class Bitsandbytes : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const char* const path = std::getenv("NF4BENCH_BITSANDBYTES");
    if (path == nullptr) GTEST_SKIP() << "NF4BENCH_BITSANDBYTES names no library";
    const peer::PeerHost host = {.kind = record::DeviceKind::kCuda,
                                 .compute_capability = device_->info().compute_capability,
                                 .tools = peer::cuda_tools()};
    peers_.emplace(std::vector<peer::PeerArgument>{{"bitsandbytes", path}}, host,
                   std::vector<kernels::Variant>());
    ASSERT_TRUE(peers_->warnings().empty()) << peers_->warnings().front();
    ASSERT_EQ(peers_->variants().size(), 2u);
  }

  const kernels::Variant& chain() const { return peers_->variants()[0]; }
  const kernels::Variant& decode() const { return peers_->variants()[1]; }

  void expect_exact(const nf4::SyntheticSpec& spec, device::UploadPurpose purpose) {
    const nf4::Nf4Tensor tensor = nf4::make_synthetic(spec);
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      const std::vector<std::byte> expected = nf4::reference_dequantize(tensor, type);
      const auto workload = device_->upload(operation::dequantize_work(tensor, type), purpose);
      for (const kernels::Variant& variant : peers_->variants()) {
        ASSERT_EQ(workload->unsupported(variant), "");
        const record::Verification comparison = workload->verify(variant, expected);
        EXPECT_EQ(comparison.compared, tensor.elements);
        EXPECT_TRUE(comparison.passed())
            << variant.name << " " << to_string(type) << " " << nf4::shape_to_string(spec.shape)
            << " blocksize " << spec.blocksize << " " << to_string(spec.absmax_kind) << ": "
            << comparison.mismatches << " wrong, first at "
            << comparison.first_mismatch.value_or(-1);
      }
    }
  }

  std::optional<peer::Peers> peers_;
};

TEST_F(Bitsandbytes, IsExactForEveryBlocksizeAndShape) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {1}, {2}, {63}, {64}, {65}, {5, 77}, {1000, 37}, {257, 65}, {8191}, {512, 520}};
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (int blocksize = nf4::kMinBlocksize; blocksize <= nf4::kMaxBlocksize; blocksize *= 2) {
      for (const auto& shape : shapes) {
        expect_exact({.shape = shape,
                      .blocksize = blocksize,
                      .absmax_kind = kind,
                      .distribution = nf4::Distribution::kNormal,
                      .seed = static_cast<std::uint64_t>(blocksize)},
                     device::UploadPurpose::kVerify);
      }
    }
  }
}

TEST_F(Bitsandbytes, IsExactForExtremeScalesBetweenGuards) {
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (const int blocksize : {32, 64, 256}) {
      expect_exact({.shape = {129, 1023},
                    .blocksize = blocksize,
                    .absmax_kind = kind,
                    .distribution = nf4::Distribution::kExtremes},
                   device::UploadPurpose::kTime);
    }
  }
}

TEST_F(Bitsandbytes, PreparedScalesSurviveTimingAndOtherVariants) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {1024, 1024}});
  const auto expected = nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16);
  const auto workload = device_->upload(
      operation::dequantize_work(tensor, nf4::OutputType::kFloat16), device::UploadPurpose::kTime);
  for (const record::LaunchMode launch :
       {record::LaunchMode::kGraph, record::LaunchMode::kStream}) {
    for (const record::CacheMode cache : {record::CacheMode::kCold, record::CacheMode::kHot}) {
      for (int round = 0; round < 3; ++round) {
        for (const kernels::Variant& variant :
             operation::dequantize().catalog(device_->info().kind).variants) {
          EXPECT_GT(workload->sample(variant, {cache, launch, 7}).seconds, 0.0);
        }
        const double whole = workload->sample(chain(), {cache, launch, 7}).seconds;
        const double part = workload->sample(decode(), {cache, launch, 7}).seconds;
        EXPECT_GT(part, 0.0);
        EXPECT_LT(part, 2 * whole);  // one launch of the three
      }
    }
  }
  EXPECT_TRUE(workload->verify(decode(), expected).passed());
  EXPECT_TRUE(workload->verify(chain(), expected).passed());
}

TEST_F(Bitsandbytes, SaysWhatItCannotDo) {
  const kernels::DeviceFacts facts = device::facts_of(device_->info());
  kernels::Job job;
  job.elements = (std::int64_t{1} << 31) - 1;
  EXPECT_EQ(chain().unsupported(job, facts), nullptr);
  job.elements = std::int64_t{1} << 31;
  EXPECT_NE(chain().unsupported(job, facts), nullptr);
  EXPECT_NE(decode().unsupported(job, facts), nullptr);
  job.elements = 0;
  EXPECT_NE(chain().unsupported(job, facts), nullptr);
}

// Its matrix products: right, in graphs too, and chosen as its Python code chooses.
class BitsandbytesProducts : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const char* const path = std::getenv("NF4BENCH_BITSANDBYTES");
    if (path == nullptr) GTEST_SKIP() << "NF4BENCH_BITSANDBYTES names no library";
    const peer::PeerHost host = {.kind = record::DeviceKind::kCuda,
                                 .operation = "matmul",
                                 .compute_capability = device_->info().compute_capability,
                                 .tools = peer::cuda_tools()};
    peers_.emplace(std::vector<peer::PeerArgument>{{"bitsandbytes", path}}, host,
                   std::vector<kernels::Variant>());
    ASSERT_TRUE(peers_->warnings().empty()) << peers_->warnings().front();
    ASSERT_EQ(peers_->variants().size(), 4u);
  }

  // Every variant that can do it, called plainly and from a graph.
  void expect_right(const nf4::SyntheticSpec& spec, nf4::OutputType type, std::int64_t tokens) {
    const operation::Operation& matmul = operation::matmul();
    const nf4::Nf4Tensor weight = nf4::make_synthetic(spec);
    kernels::Problem problem = operation::problem_of(weight, type);
    problem.tokens = tokens;
    const std::vector<std::byte> input = matmul.make_input(problem, {});
    const std::vector<std::byte> expected =
        matmul.reference(weight, problem, input, std::numeric_limits<std::int64_t>::max());
    const auto workload =
        device_->upload(operation::make_work(matmul, {.tensor = weight, .input = input}, problem),
                        device::UploadPurpose::kTimeHot);
    for (const kernels::Variant& variant : peers_->variants()) {
      if (!workload->unsupported(variant).empty()) continue;
      SCOPED_TRACE(std::string(variant.name) + " " + nf4::shape_to_string(spec.shape) + " " +
                   std::to_string(tokens) + " " + to_string(type));
      const record::Verification plain = workload->verify(variant, expected);
      EXPECT_EQ(plain.mismatches, 0);
      const auto judged = workload->judged_sample(
          variant, {record::CacheMode::kHot, record::LaunchMode::kGraph, 1}, {.own = expected});
      EXPECT_FALSE(judged.fault.has_value());
    }
  }

  std::optional<peer::Peers> peers_;
};

TEST_F(BitsandbytesProducts, AreRight) {
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
      for (const std::int64_t tokens : {1, 4, 5, 8, 17, 64}) {
        expect_right({.shape = {1024, 4096}, .absmax_kind = kind}, type, tokens);
        expect_right({.shape = {200, 320}, .absmax_kind = kind}, type, tokens);
      }
      expect_right({.shape = {1280, 3420}, .absmax_kind = kind}, type, 3);
    }
  }
}

TEST_F(BitsandbytesProducts, KnowWhatTheyCannotDo) {
  const kernels::Variant& gemv = peers_->variants()[2];
  kernels::Problem problem;
  problem.outputs = problem.inputs = 4096;
  problem.elements = problem.outputs * problem.inputs;
  problem.tokens = 2;
  EXPECT_NE(kernels::why_unsupported(gemv, problem, {}), nullptr);
  problem.tokens = 1;
  EXPECT_EQ(kernels::why_unsupported(gemv, problem, {}), nullptr);
}

}  // namespace
}  // namespace nf4bench
