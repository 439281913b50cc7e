#include "cli/decoded_file.hpp"
#include "cli/nf4_model.hpp"
#include "cli/outcome.hpp"
#include "io/writers/writers.hpp"
#include "nf4/synthetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Every sample file whose tensors bitsandbytes has decoded.
const std::vector<std::string> kSamples = {"llama_layer", "dtypes", "blocksizes",
                                           "odd_shapes",  "ranges", "quant_storage"};

std::string joined(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    if (!text.empty()) text.append("x");
    text.append(std::to_string(extent));
  }
  return text;
}

// Decodes data/`file` and compares each tensor with what bitsandbytes decodes.
void expect_golden(const std::string& file, const std::string& variant, const std::string& dtype) {
  const ScratchFolder scratch;
  const std::string out = scratch.path("out.safetensors");
  ASSERT_THAT(nf4bench({"dequantize", sample(file), "-o", out, "--device", "cpu", "--variant",
                        variant, "--dtype", dtype}),
              testing::AllOf(Ends(0), Prints(IsEmpty())));
  const auto expected = expected_of(file);
  const auto decoded = read_decoded(out);
  ASSERT_EQ(decoded.size(), expected.size());
  ASSERT_FALSE(expected.empty());
  for (const auto& [name, tensor] : expected) {
    const std::string type = dtype == "stored" ? tensor.dtype : dtype;
    ASSERT_TRUE(decoded.contains(name)) << name;
    EXPECT_EQ(decoded.at(name).sha256, tensor.sha256.at(type)) << file << " " << name;
    EXPECT_EQ(joined(decoded.at(name).shape), tensor.shape) << name;
  }
}

TEST(Dequantize, GivesTheBytesOfBitsandbytesInEveryTypeWithTheReference) {
  for (const std::string& stem : kSamples) {
    for (const char* dtype : {"float16", "bfloat16", "float32"}) {
      expect_golden(stem + ".safetensors", "reference", dtype);
    }
  }
}

TEST(Dequantize, GivesTheBytesOfBitsandbytesInEveryTypeWithSimd) {
  for (const std::string& stem : kSamples) {
    for (const char* dtype : {"float16", "bfloat16", "float32"}) {
      expect_golden(stem + ".safetensors", "simd", dtype);
    }
  }
}

TEST(Dequantize, WritesTheTypeThatEachStateNamesByDefault) {
  expect_golden("dtypes.safetensors", "lut", "stored");
}

TEST(Dequantize, GivesTheBytesOfBitsandbytesForArchivesOfNumpy) {
  for (const char* file : {"npz/savez.npz", "npz/savez_compressed.npz"}) {
    for (const char* dtype : {"float16", "bfloat16", "float32"}) expect_golden(file, "simd", dtype);
  }
}

TEST(Dequantize, WritesOnlyTheTensorsSelected) {
  const ScratchFolder scratch;
  const std::string out = scratch.path("out.safetensors");
  EXPECT_THAT(nf4bench({"dequantize", sample("llama_layer.safetensors"), "-o", out, "--device",
                        "cpu", "--tensor", "self_attn\\.[qk]_proj"}),
              Ends(0));
  EXPECT_EQ(read_decoded(out).size(), 2u);
}

TEST(Dequantize, SelectingNothingIsAUsageErrorAndWritesNothing) {
  const ScratchFolder scratch;
  const std::string out = scratch.path("out.safetensors");
  EXPECT_THAT(nf4bench({"dequantize", sample("llama_layer.safetensors"), "-o", out, "--device",
                        "cpu", "--tensor", "lm_head"}),
              Ends(2));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Dequantize, WarnsOfOutputsThatAreNotFinite) {
  const ScratchFolder scratch;
  nf4::Nf4Tensor tensor =
      nf4::make_synthetic({.name = "odd", .shape = {200}, .absmax_kind = nf4::AbsmaxKind::kPlain});
  tensor.absmax.front() = std::numeric_limits<float>::infinity();
  const std::string path = scratch.path("odd.safetensors");
  io::write_nf4_safetensors(path, std::vector{tensor});
  EXPECT_THAT(nf4bench({"dequantize", path, "-o", scratch.path("out.safetensors"), "--device",
                        "cpu", "--dtype", "float16"}),
              Ends(0, HasSubstr("nf4bench: warning: odd: 1 of 4 scales are infinite or NaN, "
                                "and so are 64 of 200 outputs in float16\n")));
}

TEST(Dequantize, OfAFileWithoutNf4TensorsSaysWhatItHolds) {
  const ScratchFolder scratch;
  EXPECT_THAT(nf4bench({"dequantize", sample("fp4.safetensors"), "-o",
                        scratch.path("out.safetensors"), "--device", "cpu"}),
              Ends(3, HasSubstr("FP4")));
  EXPECT_FALSE(std::filesystem::exists(scratch.path("out.safetensors")));
}

TEST(Dequantize, IntoAFolderThatIsNotThereNamesThePath) {
  const ScratchFolder scratch;
  const std::string out = scratch.path("no/such/out.safetensors");
  EXPECT_THAT(
      nf4bench({"dequantize", sample("llama_layer.safetensors"), "-o", out, "--device", "cpu"}),
      Ends(3, HasSubstr(out)));
}

TEST(Dequantize, WritesNoFileOfAnotherEndingAndNoneToStdout) {
  const ScratchFolder scratch;
  for (const std::string name : {"out.npz", "out.npy", "out", "out/", "out.safetensors.tmp", "-"}) {
    EXPECT_THAT(
        shell("cd '" + scratch.path("") + "' && $NF4BENCH dequantize '" +
              sample("llama_layer.safetensors") + "' --device cpu -o " + name),
        testing::AllOf(Ends(2, HasSubstr("does not end in .safetensors")), Prints(IsEmpty())))
        << name;
    EXPECT_FALSE(std::filesystem::exists(scratch.path(name))) << name;
  }
}

TEST(Dequantize, SaysHowManyTensorsItLeavesOut) {
  const ScratchFolder scratch;
  const auto said = [&](const std::string& input) {
    return nf4bench({"dequantize", input, "-o", scratch.path("out.safetensors"), "--device", "cpu",
                     "--variant", "lut"})
        .err;
  };
  EXPECT_THAT(said(sample("llama_layer.safetensors")), Not(HasSubstr("left out")));
  const std::string mixed = write_mixed_file(scratch.path("mixed.safetensors"));
  EXPECT_THAT(said(mixed), HasSubstr("wrote 1 tensor to "));
  EXPECT_THAT(said(mixed), HasSubstr("; left out 2 other tensors (--complete writes"));
}

TEST(Dequantize, AmbiguousVariantIsAUsageError) {
  const ScratchFolder scratch;
  EXPECT_EQ(nf4bench({"dequantize", sample("llama_layer.safetensors"), "-o",
                      scratch.path("out.safetensors"), "--device", "cpu", "--variant", "*"})
                .exit_code,
            2);
}

}  // namespace
}  // namespace nf4bench::test
