// How libbitsandbytes is called, seen by a stand-in that exports the same functions and decodes on
// the host.

#include "peer/bitsandbytes.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "device/devices.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "peer/fake_bitsandbytes.hpp"

namespace nf4bench {
namespace {

using test::FakeCall;

// What the tools were asked to do, in order, among the library's calls.
std::vector<std::string> steps;

void add_offset(float* scales, std::int64_t count, float offset, CUstream_st*) {
  steps.emplace_back("add_offset");
  for (std::int64_t i = 0; i < count; ++i) scales[i] += offset;
}

const CudaTools kHostTools = {
    .add_offset = add_offset,
    .default_stream_waits_for = [](CUstream_st*) { steps.emplace_back("default waits"); },
    .wait_for_default_stream = [](CUstream_st*) { steps.emplace_back("stream waits"); }};

class Bitsandbytes : public testing::Test {
 protected:
  explicit Bitsandbytes(const char* path = TEST_BNB)
      : library_(path),
        found_(find_bitsandbytes(library_)),
        variants_(bitsandbytes_variants(found_, kHostTools, "bnb", "bnb_decode")),
        calls_(static_cast<FakeCall*>(library_.find("fake_calls"))),
        count_(static_cast<int*>(library_.find("fake_call_count"))) {
    *count_ = 0;
    steps.clear();
  }

  const Variant& chain() const { return variants_[0]; }
  const Variant& decode() const { return variants_[1]; }

  // The calls since the fixture was made.
  std::vector<FakeCall> calls() const { return {calls_, calls_ + *count_}; }

  SharedLibrary library_;
  BitsandbytesLibrary found_;
  std::vector<Variant> variants_;
  FakeCall* calls_;
  int* count_;
};

class BitsandbytesWithoutStream : public Bitsandbytes {
 protected:
  BitsandbytesWithoutStream() : Bitsandbytes(TEST_BNB_WITHOUT_STREAM) {}
};

TEST_F(Bitsandbytes, ChainAndDecodeAreExact) {
  const auto device = open_cpu_device({});
  for (const AbsmaxKind kind : {AbsmaxKind::kNested, AbsmaxKind::kPlain}) {
    for (const int blocksize : {32, 64, 4096}) {
      const Nf4Tensor tensor =
          make_synthetic({.shape = {77, 131}, .blocksize = blocksize, .absmax_kind = kind});
      for (const OutputType type : kOutputTypes) {
        const auto expected = reference_dequantize(tensor, type);
        const auto workload = device->upload(tensor, type, UploadPurpose::kVerify);
        for (const Variant& variant : variants_) {
          EXPECT_TRUE(workload->verify(variant, expected).is_exact())
              << variant.name << to_string(kind) << blocksize << to_string(type);
        }
      }
    }
  }
}

TEST_F(Bitsandbytes, IsCalledAsUnslothCallsIt) {
  auto* const stream = reinterpret_cast<CUstream_st*>(std::uintptr_t{0x1234});
  const Nf4Tensor tensor = make_synthetic({.shape = {100, 1000}});
  std::vector<float> output(100 * 1000);
  std::vector<float> scales(tensor.absmax_codes.size());
  Job job;
  job.packed = tensor.packed.data();
  job.absmax_codes = tensor.absmax_codes.data();
  job.nested_absmax = tensor.nested_absmax.data();
  job.nested_map = tensor.nested_map.data();
  job.elements = tensor.elements;
  job.blocks = tensor.blocks();
  job.output_type = OutputType::kFloat32;
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
  const auto device = open_cpu_device({});
  const Nf4Tensor tensor = make_synthetic({.shape = {64}, .absmax_kind = AbsmaxKind::kPlain});
  for (const OutputType type : kOutputTypes) {
    device->upload(tensor, type, UploadPurpose::kVerify)->output_of(chain());
  }
  const std::vector<FakeCall> seen = calls();
  ASSERT_EQ(seen.size(), 3u);  // plain tensors need the last launch alone
  EXPECT_STREQ(seen[0].function, "cdequantize_blockwise_fp16_nf4");
  EXPECT_STREQ(seen[1].function, "cdequantize_blockwise_bf16_nf4");
  EXPECT_STREQ(seen[2].function, "cdequantize_blockwise_fp32_nf4");
  EXPECT_TRUE(steps.empty());
}

TEST_F(Bitsandbytes, DecodesScalesOnceAndNotInATimedCall) {
  const auto workload = open_cpu_device({})->upload(make_synthetic({.shape = {64, 64}}),
                                                    OutputType::kFloat16, UploadPurpose::kVerify);
  const SampleSpec spec = {CacheMode::kHot, LaunchMode::kStream, 3};
  workload->sample(decode(), spec);
  workload->sample(decode(), spec);
  int of_scales = 0;
  for (const FakeCall& call : calls()) of_scales += call.blocksize == 256 ? 1 : 0;
  EXPECT_EQ(of_scales, 1);
  EXPECT_EQ(steps.size(), 1u);
}

TEST_F(Bitsandbytes, PreparedScalesSurviveWhatOtherVariantsWrite) {
  const auto device = open_cpu_device({});
  const Nf4Tensor tensor = make_synthetic({.shape = {512, 64}});
  const auto workload = device->upload(tensor, OutputType::kFloat16, UploadPurpose::kTime);
  const SampleSpec spec = {CacheMode::kCold, LaunchMode::kStream, 1};
  std::vector<std::byte> last(static_cast<std::size_t>(workload->bytes_written()));
  // Shares its output with all others, and spoils every workspace it is given.
  Variant spoiler = chain();
  spoiler.name = "spoiler";
  spoiler.launch = [](const Job& job, const Launch&) {
    std::memset(job.workspace, 0x55, static_cast<std::size_t>(job.blocks) * sizeof(float));
  };
  Variant observed = decode();
  observed.name = "observed";
  observed.launch = [&](const Job& job, const Launch& launch) {
    decode().launch(job, launch);
    std::memcpy(last.data(), job.output, last.size());
  };
  const auto expected = reference_dequantize(tensor, OutputType::kFloat16);
  for (int i = 0; i < 2 * workload->buffer_sets() && i < 50; ++i) {
    workload->sample(spoiler, spec);
    workload->sample(observed, spec);
    ASSERT_EQ(last, expected) << "sample " << i;
  }
}

TEST_F(Bitsandbytes, DeclinesWhatThirtyTwoBitsCanNotCount) {
  Job job;
  job.elements = std::numeric_limits<int>::max();
  EXPECT_EQ(chain().unsupported(job, {}), nullptr);
  job.elements += 1;
  EXPECT_NE(chain().unsupported(job, {}), nullptr);
  EXPECT_NE(decode().unsupported(job, {}), nullptr);
}

TEST_F(Bitsandbytes, DeclinesAnEmptyTensor) {
  EXPECT_NE(chain().unsupported(Job{}, {}), nullptr);
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
  const Nf4Tensor tensor = make_synthetic({.shape = {77, 131}});
  const auto expected = reference_dequantize(tensor, OutputType::kBfloat16);
  const auto workload =
      open_cpu_device({})->upload(tensor, OutputType::kBfloat16, UploadPurpose::kVerify);
  EXPECT_TRUE(workload->verify(chain(), expected).is_exact());
  EXPECT_EQ(steps, (std::vector<std::string>{"default waits", "stream waits", "add_offset",
                                             "default waits", "stream waits"}));
}

}  // namespace
}  // namespace nf4bench
