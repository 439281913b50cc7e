// How libbitsandbytes is called. A stand-in exports the same functions, decodes on the host and
// records its calls.

#include "bitsandbytes/bitsandbytes.hpp"
#include "bitsandbytes/fake_cuda_library.hpp"
#include "device/devices.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

using test::FakeCall;

// What the tools were asked to do, in order, among the library's calls.
std::vector<std::string> steps;

void add_offset(float* scales, std::int64_t count, const float* offset, CUstream_st*) {
  steps.emplace_back("add_offset");
  for (std::int64_t i = 0; i < count; ++i) scales[i] += *offset;
}

const bitsandbytes::CudaCalls kHostTools = {
    .add_offset = add_offset,
    .default_stream_waits_for = [](CUstream_st*) { steps.emplace_back("default waits"); },
    .wait_for_default_stream = [](CUstream_st*) { steps.emplace_back("stream waits"); }};

class Bitsandbytes : public testing::Test {
 protected:
  explicit Bitsandbytes(const char* path = TEST_BNB)
      : library_(path),
        found_(bitsandbytes::find_cuda_library(library_)),
        variants_(bitsandbytes::cuda_variants(found_, kHostTools, "bnb", "bnb_decode")),
        calls_(static_cast<FakeCall*>(library_.find("fake_calls"))),
        count_(static_cast<int*>(library_.find("fake_call_count"))) {
    *count_ = 0;
    steps.clear();
  }

  const kernels::Variant& chain() const { return variants_[0]; }
  const kernels::Variant& decode() const { return variants_[1]; }

  // The calls since the fixture was made.
  std::vector<FakeCall> calls() const { return {calls_, calls_ + *count_}; }

  SharedLibrary library_;
  bitsandbytes::CudaLibrary found_;
  std::vector<kernels::Variant> variants_;
  FakeCall* calls_;
  int* count_;
};

class BitsandbytesWithoutStream : public Bitsandbytes {
 protected:
  BitsandbytesWithoutStream() : Bitsandbytes(TEST_BNB_WITHOUT_STREAM) {}
};

TEST_F(Bitsandbytes, ChainAndDecodeAreExact) {
  const auto device = device::open_cpu_device({});
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (const int blocksize : {32, 64, 4096}) {
      const nf4::Nf4Tensor tensor =
          nf4::make_synthetic({.shape = {77, 131}, .blocksize = blocksize, .absmax_kind = kind});
      for (const nf4::OutputType type : nf4::kOutputTypes) {
        const auto expected = nf4::reference_dequantize(tensor, type);
        const auto workload = device->upload(operation::dequantize_work(tensor, type),
                                             device::UploadPurpose::kVerify);
        for (const kernels::Variant& variant : variants_) {
          EXPECT_TRUE(workload->verify(variant, expected).passed())
              << variant.name << to_string(kind) << blocksize << to_string(type);
        }
      }
    }
  }
}

TEST_F(Bitsandbytes, IsCalledAsUnslothCallsIt) {
  auto* const stream = reinterpret_cast<CUstream_st*>(std::uintptr_t{0x1234});
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {100, 1000}});
  std::vector<float> output(100 * 1000);
  std::vector<float> scales(tensor.absmax_codes.size());
  kernels::Job job;
  job.packed = tensor.packed.data();
  job.nested = true;
  job.absmax_codes = tensor.absmax_codes.data();
  job.nested_absmax = tensor.nested_absmax.data();
  job.nested_map = tensor.nested_map.data();
  job.nested_offset = &tensor.nested_offset;
  job.elements = tensor.elements;
  job.blocks = tensor.blocks();
  job.output_type = nf4::OutputType::kFloat32;
  job.output = output.data();
  job.workspace = scales.data();
  chain().launch(job, {.stream = stream, .device = {}});
  const std::vector<FakeCall> seen = calls();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_STREQ(seen[0].function, "cdequantize_blockwise_fp32");
  EXPECT_EQ(seen[0].code, job.nested_map);
  EXPECT_EQ(seen[0].codes, job.absmax_codes);
  EXPECT_EQ(seen[0].absmax, job.nested_absmax);
  EXPECT_EQ(seen[0].out, job.workspace);
  EXPECT_EQ(seen[0].blocksize, 256);
  EXPECT_EQ(seen[0].n, 1563);  // 100,000 elements in blocks of 64, the last one short
  EXPECT_EQ(seen[0].stream, stream);
  EXPECT_STREQ(seen[1].function, "cdequantize_blockwise_fp32_nf4");
  EXPECT_EQ(seen[1].code, nullptr);
  EXPECT_EQ(seen[1].codes, job.packed);
  EXPECT_EQ(seen[1].absmax, job.workspace);
  EXPECT_EQ(seen[1].out, job.output);
  EXPECT_EQ(seen[1].blocksize, 64);
  EXPECT_EQ(seen[1].n, 100000);
  EXPECT_EQ(seen[1].stream, stream);
  EXPECT_EQ(steps, std::vector<std::string>{"add_offset"});
}

TEST_F(Bitsandbytes, TakesTheFunctionOfTheOutputType) {
  const auto device = device::open_cpu_device({});
  const nf4::Nf4Tensor tensor =
      nf4::make_synthetic({.shape = {64}, .absmax_kind = nf4::AbsmaxKind::kPlain});
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    device->upload(operation::dequantize_work(tensor, type), device::UploadPurpose::kVerify)
        ->output_of(chain());
  }
  const std::vector<FakeCall> seen = calls();
  ASSERT_EQ(seen.size(), 3u);  // plain tensors need only the last launch
  EXPECT_STREQ(seen[0].function, "cdequantize_blockwise_fp16_nf4");
  EXPECT_STREQ(seen[1].function, "cdequantize_blockwise_bf16_nf4");
  EXPECT_STREQ(seen[2].function, "cdequantize_blockwise_fp32_nf4");
  EXPECT_TRUE(steps.empty());
}

TEST_F(Bitsandbytes, DecodesScalesOnceAndNotInATimedCall) {
  const auto workload = device::open_cpu_device({})->upload(
      operation::dequantize_work(nf4::make_synthetic({.shape = {64, 64}}),
                                 nf4::OutputType::kFloat16),
      device::UploadPurpose::kVerify);
  const device::SampleSpec spec = {record::CacheMode::kHot, record::LaunchMode::kStream, 3};
  workload->sample(decode(), spec);
  workload->sample(decode(), spec);
  int of_scales = 0;
  for (const FakeCall& call : calls()) of_scales += call.blocksize == 256 ? 1 : 0;
  EXPECT_EQ(of_scales, 1);
  EXPECT_EQ(steps.size(), 1u);
}

TEST_F(Bitsandbytes, PreparedScalesSurviveWhatOtherVariantsWrite) {
  const auto device = device::open_cpu_device({});
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {512, 64}});
  const auto workload = device->upload(
      operation::dequantize_work(tensor, nf4::OutputType::kFloat16), device::UploadPurpose::kTime);
  const device::SampleSpec spec = {record::CacheMode::kCold, record::LaunchMode::kStream, 1};
  std::vector<std::byte> last(static_cast<std::size_t>(2 * tensor.elements));
  // Writes to the output that all variants share, and spoils every workspace that it gets.
  kernels::Variant spoiler = chain();
  spoiler.name = "spoiler";
  spoiler.launch = [](const kernels::Job& job, const kernels::Launch&) {
    std::memset(job.workspace, 0x55, static_cast<std::size_t>(job.blocks) * sizeof(float));
  };
  kernels::Variant observed = decode();
  observed.name = "observed";
  observed.launch = [&](const kernels::Job& job, const kernels::Launch& launch) {
    decode().launch(job, launch);
    std::memcpy(last.data(), job.output, last.size());
  };
  const auto expected = nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16);
  for (int i = 0; i < 2 * workload->buffer_sets() && i < 50; ++i) {
    workload->sample(spoiler, spec);
    workload->sample(observed, spec);
    ASSERT_EQ(last, expected) << "sample " << i;
  }
}

TEST_F(Bitsandbytes, DeclinesWhatThirtyTwoBitsCannotCount) {
  kernels::Job job;
  job.elements = std::numeric_limits<int>::max();
  EXPECT_EQ(chain().unsupported(job, {}), nullptr);
  job.elements += 1;
  EXPECT_NE(chain().unsupported(job, {}), nullptr);
  EXPECT_NE(decode().unsupported(job, {}), nullptr);
}

TEST_F(Bitsandbytes, DeclinesAnEmptyTensor) {
  EXPECT_NE(chain().unsupported(kernels::Job{}, {}), nullptr);
}

TEST_F(Bitsandbytes, WithAStreamCanBeRecordedInAGraph) {
  EXPECT_TRUE(found_.takes_stream);
  EXPECT_TRUE(chain().traits.capturable);
}

TEST_F(BitsandbytesWithoutStream, IsToldFromItsSymbols) {
  EXPECT_FALSE(found_.takes_stream);
  EXPECT_FALSE(chain().traits.capturable);
  EXPECT_FALSE(decode().traits.capturable);
}

TEST_F(BitsandbytesWithoutStream, IsExactAndOrderedAroundTheDefaultStream) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {77, 131}});
  const auto expected = nf4::reference_dequantize(tensor, nf4::OutputType::kBfloat16);
  const auto workload = device::open_cpu_device({})->upload(
      operation::dequantize_work(tensor, nf4::OutputType::kBfloat16),
      device::UploadPurpose::kVerify);
  EXPECT_TRUE(workload->verify(chain(), expected).passed());
  EXPECT_EQ(steps, (std::vector<std::string>{"default waits", "stream waits", "add_offset",
                                             "default waits", "stream waits"}));
}

}  // namespace
}  // namespace nf4bench
