#include "catalog.hpp"
#include "cpu/simd_target.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "nf4/arithmetic.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/judge.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

namespace nf4bench {
namespace {

// Neither a NaN nor a value that a tensor of these tests decodes to in the first element.
constexpr int kPoison = 0xeb;
constexpr std::size_t kAlignment = 256;

// Memory as a job promises it: aligned, and not a byte longer than asked for. A sanitizer sees
// accesses beyond it; without one, a canary behind the end shows writes.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, kAlignment, bytes + kCanaryBytes), 0);
    memory_.reset(static_cast<std::byte*>(memory));
    std::memset(memory, kPoison, bytes + kCanaryBytes);
  }
  template <typename T>
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size() * sizeof(T)) {
    if (bytes_ != 0) std::memcpy(memory_.get(), values.data(), bytes_);
  }

  template <typename T>
  T* as() const {
    return bytes_ == 0 ? nullptr : reinterpret_cast<T*>(memory_.get());
  }
  std::span<const std::byte> span() const { return {memory_.get(), bytes_}; }
  bool is_canary_alive() const {
    for (std::size_t i = 0; i < kCanaryBytes; ++i) {
      if (memory_[bytes_ + i] != std::byte{kPoison}) return false;
    }
    return true;
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kCanaryBytes = 0;
#else
  static constexpr std::size_t kCanaryBytes = 256;
#endif
  std::size_t bytes_;
  std::unique_ptr<std::byte[], Free> memory_;
};

constexpr int kThreads = 2;

// What a tensor is to be decoded to, and by how many threads.
struct Wanted {
  nf4::OutputType type = nf4::OutputType::kFloat16;
  std::span<const std::byte> expected{};
  int threads = kThreads;
};

// Runs `variant` on `tensor` in buffers of exactly the promised sizes and compares every element.
testing::AssertionResult decodes(const kernels::Variant& variant, const nf4::Nf4Tensor& tensor,
                                 const Wanted& wanted) {
  const auto [type, expected, threads] = wanted;
  const Buffer packed(tensor.packed);
  const Buffer absmax(tensor.absmax);
  const Buffer codes(tensor.absmax_codes);
  const Buffer nested_absmax(tensor.nested_absmax);
  const Buffer nested_map(tensor.nested_map);
  const Buffer output(expected.size());
  kernels::Job job;
  job.packed = packed.as<std::uint8_t>();
  job.absmax = absmax.as<float>();
  job.absmax_codes = codes.as<std::uint8_t>();
  job.nested_absmax = nested_absmax.as<float>();
  job.nested_map = nested_map.as<float>();
  job.nested_offset = &tensor.nested_offset;
  job.elements = tensor.elements;
  job.blocks = tensor.blocks();
  job.block_shift = __builtin_ctz(static_cast<unsigned>(tensor.blocksize));
  job.nested = tensor.is_nested();
  job.output_type = type;
  job.output = output.as<void>();
  const Buffer workspace(static_cast<std::size_t>(kernels::workspace_of(variant, job, {})));
  job.workspace = workspace.as<void>();
  if (const char* reason = kernels::why_unsupported(variant, job, {}); reason != nullptr) {
    return testing::AssertionFailure() << variant.name << " says " << reason;
  }
  variant.launch(job, {.device = {.multiprocessors = threads}});
  const record::Verification found = operation::compare_outputs(type, expected, output.span());
  if (!output.is_canary_alive() || !workspace.is_canary_alive()) {
    return testing::AssertionFailure() << variant.name << " wrote behind its buffers";
  }
  if (found.passed() && found.compared == tensor.elements) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << variant.name << " " << to_string(type) << " " << nf4::shape_to_string(tensor.shape)
         << " blocksize " << tensor.blocksize << " " << to_string(tensor.absmax_kind) << ": "
         << found.mismatches << " of " << found.compared << " wrong, first at "
         << found.first_mismatch.value_or(-1);
}

void expect_all_variants(const nf4::Nf4Tensor& tensor, int threads = kThreads) {
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    const std::vector<std::byte> expected = nf4::reference_dequantize(tensor, type);
    for (const kernels::Variant& variant : kernels::cpu::dequantize().variants) {
      EXPECT_TRUE(decodes(variant, tensor, {type, expected, threads}));
    }
  }
}

// Every parity, a whole number of blocks and vectors, one more and one less, and several parts.
const std::vector<std::vector<std::int64_t>> kShapes = {
    {1}, {2}, {1, 3}, {31}, {63}, {64}, {65}, {7, 64}, {127}, {257, 65}, {4097}, {1000, 37}};

class EveryBlocksize : public testing::TestWithParam<int> {};

TEST_P(EveryBlocksize, AllVariantsDecodeAllShapes) {
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
    for (const auto& shape : kShapes) {
      expect_all_variants(nf4::make_synthetic({.shape = shape,
                                               .blocksize = GetParam(),
                                               .absmax_kind = kind,
                                               .distribution = nf4::Distribution::kOutlier}));
    }
  }
}

TEST_P(EveryBlocksize, AllVariantsDecodeExtremes) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
      expect_all_variants(nf4::make_synthetic({.shape = {64, 1023},
                                               .blocksize = GetParam(),
                                               .absmax_kind = kind,
                                               .distribution = nf4::Distribution::kExtremes,
                                               .seed = seed}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CpuVariants, EveryBlocksize,
                         testing::Values(32, 64, 128, 256, 512, 1024, 2048, 4096),
                         testing::PrintToStringParamName());

// Long enough for many parts per thread and, with nested absmax, for many nested blocks.
TEST(CpuVariants, DecodeATensorOfManyParts) {
  for (const int blocksize : {32, 64, 4096}) {
    expect_all_variants(nf4::make_synthetic({.shape = {1031, 2049},
                                             .blocksize = blocksize,
                                             .distribution = nf4::Distribution::kRandomCodes}));
  }
}

// Whatever bits a file may hold, as long as it is valid: any code, any scale, any finite map.
TEST(CpuVariants, DecodeArbitraryBits) {
  std::mt19937 random(1);
  const auto any_float = [&] { return nf4::float_of(static_cast<std::uint32_t>(random())); };
  const auto any_byte = [&] { return static_cast<std::uint8_t>(random()); };
  for (int round = 0; round < 40; ++round) {
    const nf4::AbsmaxKind kind =
        round % 2 == 0 ? nf4::AbsmaxKind::kPlain : nf4::AbsmaxKind::kNested;
    nf4::Nf4Tensor tensor =
        nf4::make_synthetic({.shape = {static_cast<std::int64_t>(random() % 9000 + 1)},
                             .blocksize = 32 << random() % 3,
                             .absmax_kind = kind});
    std::generate(tensor.packed.begin(), tensor.packed.end(), any_byte);
    std::generate(tensor.absmax.begin(), tensor.absmax.end(), any_float);
    std::generate(tensor.absmax_codes.begin(), tensor.absmax_codes.end(), any_byte);
    std::generate(tensor.nested_absmax.begin(), tensor.nested_absmax.end(), any_float);
    for (float& value : tensor.nested_map) {
      do value = any_float();
      while (!std::isfinite(value));
    }
    if (round % 4 == 1) tensor.nested_offset = tensor.nested_map.front();
    expect_all_variants(tensor);
  }
}

// The tensors that the fuzz target end_to_end begins with, as they are loaded.
TEST(CpuVariants, DecodeTheTensorsOfTheFuzzCorpus) {
  int decoded = 0;
  const std::string corpus = NF4BENCH_SOURCE_DIR "/tests/fuzz/corpus/end_to_end";
  for (const auto& file : std::filesystem::directory_iterator(corpus)) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    const io::Checkpoint checkpoint =
        io::Checkpoint::open_memory("fuzz.safetensors", {begin, begin + bytes.size()});
    for (const io::TensorEntry& entry : checkpoint.tensors()) {
      if (!entry.problem.empty()) continue;
      expect_all_variants(checkpoint.load(entry));
      ++decoded;
    }
  }
  EXPECT_GE(decoded, 5);
}

TEST(CpuVariants, TheNumberOfThreadsChangesNothing) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {513, 1025}});
  for (const int threads : {1, 2, 3, 7}) expect_all_variants(tensor, threads);
}

TEST(CpuVariants, TheCatalogueIsOrderedAndComplete) {
  std::vector<std::string> names;
  for (const kernels::Variant& variant : kernels::cpu::dequantize().variants) {
    names.emplace_back(variant.name);
    EXPECT_NE(std::string(variant.summary), "");
    EXPECT_GE(variant.traits.launches, 1);
    EXPECT_FALSE(variant.traits.inline_ptx);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"reference", "multi_pass", "lut", "simd"}));
}

const kernels::Variant& simd() {
  for (const kernels::Variant& variant : kernels::cpu::dequantize().variants) {
    if (variant.name == std::string("simd")) return variant;
  }
  throw std::logic_error("there is no variant simd");
}

// Restricts `simd` to one instruction set while it lives.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~OnlyTarget() { hwy::SetSupportedTargetsForTest(0); }
};

TEST(Simd, EveryInstructionSetDecodesAlike) {
  for (std::int64_t bits = hwy::SupportedTargets(); bits != 0; bits &= bits - 1) {
    const OnlyTarget only(bits & -bits);
    SCOPED_TRACE(kernels::cpu::simd_target());
    for (const int blocksize : {32, 64, 128, 512}) {
      for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
        for (const nf4::Distribution distribution :
             {nf4::Distribution::kNormal, nf4::Distribution::kExtremes}) {
          const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {129, 515},
                                                             .blocksize = blocksize,
                                                             .absmax_kind = kind,
                                                             .distribution = distribution});
          for (const nf4::OutputType type : nf4::kOutputTypes) {
            const std::vector<std::byte> expected = nf4::reference_dequantize(tensor, type);
            EXPECT_TRUE(decodes(simd(), tensor, {type, expected}));
          }
        }
      }
    }
  }
}

#if defined(__x86_64__)
// The instruction sets that this processor has and `simd` was compiled for.
std::set<std::string> target_names() {
  std::set<std::string> names;
  for (std::int64_t bits = hwy::SupportedTargets(); bits != 0; bits &= bits - 1) {
    const OnlyTarget only(bits & -bits);
    names.insert(kernels::cpu::simd_target());
  }
  return names;
}

// Every machine that runs these tests has AVX2, and the path without vectors.
TEST(Simd, HasMoreThanOneInstructionSet) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  EXPECT_TRUE(target_names().contains("AVX2"));
  EXPECT_GE(target_names().size(), 3u);
}
#endif

// Each block has another scale: both signs, around the powers of two at which conversions change.
TEST(Simd, DecodesEveryMagnitudeOfScale) {
  for (const int blocksize : {32, 128}) {
    nf4::Nf4Tensor tensor;
    tensor.blocksize = blocksize;
    tensor.absmax_kind = nf4::AbsmaxKind::kPlain;
    for (std::uint32_t exponent = 0; exponent < 512; ++exponent) {
      for (const std::uint32_t significand : {0u, 1u, 0x1fffu, 0x1000u, 0x2000u, 0x3000u, 0x400000u,
                                              0x5a5a5au, 0x7ff000u, 0x7fffffu}) {
        const std::uint32_t scale = exponent << 23 | significand;
        float value = 0.0f;
        std::memcpy(&value, &scale, sizeof(value));
        tensor.absmax.push_back(value);
      }
    }
    tensor.elements = std::ssize(tensor.absmax) * blocksize;
    tensor.shape = {tensor.elements};
    for (std::int64_t i = 0; i < tensor.elements / 2; ++i) {
      tensor.packed.push_back(static_cast<std::uint8_t>(i % 16 * 16 + (i + 7) % 16));
    }
    expect_all_variants(tensor);
  }
}

}  // namespace
}  // namespace nf4bench
