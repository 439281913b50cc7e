#include "nf4/synthetic.hpp"

#include "base/parallel.hpp"
#include "base/sha256.hpp"
#include "error_of.hpp"
#include "nf4/reference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sched.h>
#include <set>
#include <string>

namespace nf4bench {
namespace {

using test::error_of;
using testing::HasSubstr;

constexpr nf4::Distribution kDistributions[] = {
    nf4::Distribution::kRandomCodes, nf4::Distribution::kNormal, nf4::Distribution::kOutlier,
    nf4::Distribution::kUniform, nf4::Distribution::kExtremes};

std::string hash_of(const nf4::Nf4Tensor& tensor) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(tensor.packed)));
  hash.update(std::as_bytes(std::span(tensor.absmax)));
  hash.update(std::as_bytes(std::span(tensor.absmax_codes)));
  hash.update(std::as_bytes(std::span(tensor.nested_absmax)));
  hash.update(std::as_bytes(std::span(tensor.nested_map)));
  hash.update(std::as_bytes(std::span(&tensor.nested_offset, 1)));
  return hash.hex();
}

// Binds the process to one processor while it lives.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before_)) continue;
      CPU_SET(cpu, &one);
      break;
    }
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_;
};

TEST(Synthetic, TheNumberOfThreadsChangesNothing) {
  for (const nf4::Distribution distribution : kDistributions) {
    const nf4::SyntheticSpec spec = {
        .shape = {1003, 517}, .blocksize = 32, .distribution = distribution};
    const std::string many = hash_of(nf4::make_synthetic(spec));
    const OneProcessor one;
    ASSERT_EQ(hardware_threads(), 1);
    EXPECT_EQ(hash_of(nf4::make_synthetic(spec)), many);
  }
}

// Pinned, so that nobody changes the generator by accident: reports of different versions are
// compared only when these bytes are the same.
TEST(Synthetic, TheSameSpecGivesTheSameBytesOnEveryMachine) {
  const std::string hashes[] = {
      "fd0a308bf541db85766f7ea023f6f5207e751d225f446f15f35ebf6858dbcedd",
      "ea31a1ebe1a11aef9366fced4ae2cd79b98d2b24a13d88eddddc75b12a3c9110",
      "7e8a5531f8895cf037406b9d27b98f7043483a42348b0c95861b521e1f3fa90e",
      "1f66d0d1e49c69387a3c54ff08d7966408818f6cfcb0a4ef177e0b1191005234",
      "61a329b5042e205d424218f36ba4d39813bcc56547e72f76a43ac2d2a664d50d",
  };
  for (std::size_t i = 0; i < std::size(kDistributions); ++i) {
    EXPECT_EQ(
        hash_of(nf4::make_synthetic({.shape = {64, 1023}, .distribution = kDistributions[i]})),
        hashes[i])
        << "distribution " << i;
  }
}

TEST(Synthetic, SeedsDiffer) {
  for (const nf4::Distribution distribution : kDistributions) {
    std::set<std::string> hashes;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      hashes.insert(hash_of(
          nf4::make_synthetic({.shape = {999}, .distribution = distribution, .seed = seed})));
    }
    EXPECT_EQ(hashes.size(), 20u);
  }
}

TEST(SyntheticSeeds, DependOnTheShapeAndNotOnOtherShapes) {
  nf4::SyntheticSeeds seeds(42);
  const std::uint64_t first = seeds.next({64, 96});
  const std::uint64_t other = seeds.next({96, 64});
  nf4::SyntheticSeeds again(42);
  EXPECT_EQ(again.next({96, 64}), other);
  EXPECT_EQ(again.next({64, 96}), first);
}

TEST(SyntheticSeeds, DifferForShapesTurnsAndSeeds) {
  const std::vector<std::int64_t> shapes[] = {{1},  {64},     {64, 1},     {1, 64},
                                              {65}, {64, 64}, {64, 64, 1}, {64, 65}};
  std::set<std::uint64_t> all;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    nf4::SyntheticSeeds seeds(seed);
    for (int turn = 0; turn < 20; ++turn) {
      for (const auto& shape : shapes) all.insert(seeds.next(shape));
    }
  }
  EXPECT_EQ(all.size(), 20u * 20u * std::size(shapes));
}

// Pinned for the same reason as the bytes.
TEST(SyntheticSeeds, AreTheSameOnEveryMachine) {
  nf4::SyntheticSeeds seeds(42);
  EXPECT_EQ(seeds.next({4096, 14336}), 2591665033207997889u);
  EXPECT_EQ(seeds.next({4096, 14336}), 5665466675244075477u);
}

TEST(Synthetic, EverySpecGivesAValidTensor) {
  for (const nf4::Distribution distribution : kDistributions) {
    for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
      for (int blocksize = nf4::kMinBlocksize; blocksize <= nf4::kMaxBlocksize; blocksize *= 4) {
        for (const std::vector<std::int64_t>& shape :
             {std::vector<std::int64_t>{1}, {1, 1}, {3, 5}, {2, 3, 5, 7}, {1, 4096}, {77, 97}}) {
          const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = shape,
                                                             .blocksize = blocksize,
                                                             .absmax_kind = kind,
                                                             .distribution = distribution});
          EXPECT_NO_THROW(nf4::validate(tensor));
          EXPECT_EQ(tensor.shape, shape);
          EXPECT_EQ(tensor.source, "synthetic");
          if (tensor.elements % 2 != 0) {
            EXPECT_EQ(tensor.packed.back() & 15, 7);
          }
        }
      }
    }
  }
}

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
  double beyond_four_sigma = 0.0;  // fraction
  float greatest = 0.0f;
};

Moments moments_of(nf4::Distribution distribution) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {1024, 1024},
                                                     .blocksize = 32,
                                                     .absmax_kind = nf4::AbsmaxKind::kPlain,
                                                     .distribution = distribution});
  const std::vector<std::byte> bytes = nf4::reference_dequantize(tensor, nf4::OutputType::kFloat32);
  const std::span values(reinterpret_cast<const float*>(bytes.data()), bytes.size() / 4);
  Moments moments;
  double squares = 0.0;
  for (const float value : values) {
    moments.mean += double{value};
    squares += double{value} * double{value};
    moments.beyond_four_sigma += std::fabs(value) > 0.08f ? 1.0 : 0.0;
    moments.greatest = std::max(moments.greatest, std::fabs(value));
  }
  const auto count = static_cast<double>(values.size());
  moments.mean /= count;
  moments.deviation = std::sqrt(squares / count);
  moments.beyond_four_sigma /= count;
  return moments;
}

// Quantization adds about 8 % of noise; the bounds leave room for that and no more.
TEST(Synthetic, NormalWeightsHaveTheirSpread) {
  const Moments moments = moments_of(nf4::Distribution::kNormal);
  EXPECT_NEAR(moments.mean, 0.0, 1e-4);
  EXPECT_NEAR(moments.deviation, 0.02, 4e-4);
  EXPECT_NEAR(moments.beyond_four_sigma, 6.3e-5, 3e-5);
  EXPECT_LT(moments.greatest, 0.13f);
}

TEST(Synthetic, OneWeightInAThousandIsAnOutlier) {
  const Moments moments = moments_of(nf4::Distribution::kOutlier);
  // Of N(0, 0.4), 84 % lie beyond 0.08.
  EXPECT_NEAR(moments.beyond_four_sigma, 0.00084, 0.00015);
  EXPECT_GT(moments.greatest, 1.0f);
}

TEST(Synthetic, UniformWeightsFillTheirRange) {
  const Moments moments = moments_of(nf4::Distribution::kUniform);
  EXPECT_NEAR(moments.mean, 0.0, 1e-4);
  EXPECT_NEAR(moments.deviation, 0.1 / std::sqrt(12.0), 4e-4);
  EXPECT_LE(moments.greatest, 0.05f);
}

TEST(Synthetic, ExtremesReachEverySpecialResult) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {256, 64},
                                                     .absmax_kind = nf4::AbsmaxKind::kPlain,
                                                     .distribution = nf4::Distribution::kExtremes});
  bool has_nan = false, has_infinity = false, has_subnormal = false, has_negative_zero = false;
  const std::vector<std::byte> bytes = nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16);
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const unsigned bits =
        std::to_integer<unsigned>(bytes[i]) | std::to_integer<unsigned>(bytes[i + 1]) << 8;
    has_nan |= (bits & 0x7fffu) > 0x7c00;
    has_infinity |= (bits & 0x7fffu) == 0x7c00;
    has_subnormal |= (bits & 0x7fffu) != 0 && (bits & 0x7c00u) == 0;
    has_negative_zero |= bits == 0x8000;
  }
  EXPECT_TRUE(has_nan && has_infinity && has_subnormal && has_negative_zero);
}

// Expects a usage error that holds `word`.
void expect_refusal(const nf4::SyntheticSpec& spec, const std::string& word) {
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { nf4::make_synthetic(spec); }), HasSubstr(word))
      << nf4::shape_to_string(spec.shape);
}

TEST(Synthetic, RefusesWhatNoFileCouldHold) {
  expect_refusal({.shape = {}}, "empty");
  expect_refusal({.shape = {0, 64}}, "extent 0");
  expect_refusal({.shape = {-1, -64}}, "extent -1");
  expect_refusal({.shape = {64}, .blocksize = 48}, "blocksize 48");
  expect_refusal({.shape = {64}, .blocksize = 8192}, "blocksize 8192");
  expect_refusal({.shape = {std::int64_t{1} << 33, std::int64_t{1} << 33}}, "more than");
  expect_refusal({.shape = {INT64_MAX, INT64_MAX, INT64_MAX}}, "more than");
}

}  // namespace
}  // namespace nf4bench
