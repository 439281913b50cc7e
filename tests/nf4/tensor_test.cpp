#include "nf4/tensor.hpp"

#include "error_of.hpp"
#include "nf4/synthetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace nf4bench {
namespace {

using test::error_of;
using testing::HasSubstr;

nf4::Nf4Tensor sample(nf4::AbsmaxKind kind) {
  nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "w", .shape = {5, 77}, .absmax_kind = kind});
  tensor.source = "file.safetensors";
  return tensor;
}

// Expects that `damage` makes the tensor invalid and that the one line says so with `words`.
void expect_refusal(nf4::AbsmaxKind kind, const std::function<void(nf4::Nf4Tensor&)>& damage,
                    const std::vector<std::string>& words) {
  nf4::Nf4Tensor tensor = sample(kind);
  ASSERT_NO_THROW(nf4::validate(tensor));
  damage(tensor);
  const std::string error = error_of(ErrorKind::kInput, [&] { nf4::validate(tensor); });
  EXPECT_THAT(error, HasSubstr("file.safetensors: tensor \"w\""));
  for (const std::string& word : words) EXPECT_THAT(error, HasSubstr(word));
}

TEST(Tensor, ShapesRead) {
  EXPECT_EQ(nf4::shape_to_string({4096, 11008}), "4096x11008");
  EXPECT_EQ(nf4::shape_to_string({7}), "7");
  EXPECT_EQ(nf4::shape_to_string({}), "scalar");
}

TEST(Tensor, CountsTheBytesOfTheFormat) {
  // 4096 x 4096 in blocks of 64: 8 MiB packed and 262144 scales, or codes with 1024 nested scales.
  nf4::Nf4Tensor tensor;
  tensor.elements = 4096 * 4096;
  tensor.absmax_kind = nf4::AbsmaxKind::kPlain;
  EXPECT_EQ(nf4::bytes_read(tensor), 8388608 + 4 * 262144);
  tensor.absmax_kind = nf4::AbsmaxKind::kNested;
  EXPECT_EQ(nf4::bytes_read(tensor), 8388608 + 262144 + 4 * 1024 + 4 * 256);
}

// sha256sum says the same of a file with these bytes.
TEST(Tensor, FingerprintIsThatOfItsBytesInTheirOrder) {
  nf4::Nf4Tensor tensor;
  tensor.absmax_kind = nf4::AbsmaxKind::kPlain;
  tensor.packed = {0x12, 0x34};
  tensor.absmax = {1.0f};
  EXPECT_EQ(nf4::fingerprint(tensor),
            "d8b11410f742db43e0f0e11f367f1242ccd0048a684af7e10ecf73926d693131");
  tensor.absmax_kind = nf4::AbsmaxKind::kNested;
  tensor.absmax_codes = {0x56};
  tensor.nested_absmax = {1.0f};
  tensor.nested_map = {0.5f};
  tensor.nested_offset = 2.0f;
  EXPECT_EQ(nf4::fingerprint(tensor),
            "7fffb78bb0d8dfb44e4f087808b064fb0f9ecf3648f95a2301ba3d7b0c909223");
}

// Each part alone makes another of it.
TEST(Tensor, FingerprintSeesEveryPart) {
  const nf4::Nf4Tensor tensor = sample(nf4::AbsmaxKind::kNested);
  const auto changed = [&](const std::function<void(nf4::Nf4Tensor&)>& change) {
    nf4::Nf4Tensor other = tensor;
    change(other);
    return nf4::fingerprint(other) != nf4::fingerprint(tensor);
  };
  EXPECT_TRUE(changed([](nf4::Nf4Tensor& t) { t.packed.back() ^= 1; }));
  EXPECT_TRUE(changed([](nf4::Nf4Tensor& t) { t.absmax_codes.back() ^= 1; }));
  EXPECT_TRUE(changed([](nf4::Nf4Tensor& t) { t.nested_absmax.back() += 1.0f; }));
  EXPECT_TRUE(changed([](nf4::Nf4Tensor& t) { t.nested_map.back() += 1.0f; }));
  EXPECT_TRUE(changed([](nf4::Nf4Tensor& t) { t.nested_offset += 1.0f; }));
  EXPECT_FALSE(changed([](nf4::Nf4Tensor& t) { t.name = "other"; }));
}

TEST(Tensor, RefusesWrongLengths) {
  expect_refusal(nf4::AbsmaxKind::kPlain, [](nf4::Nf4Tensor& t) { t.packed.pop_back(); },
                 {"packed weight", "192", "193"});
  expect_refusal(nf4::AbsmaxKind::kPlain, [](nf4::Nf4Tensor& t) { t.packed.push_back(0); },
                 {"194"});
  expect_refusal(nf4::AbsmaxKind::kPlain, [](nf4::Nf4Tensor& t) { t.absmax.pop_back(); },
                 {"absmax holds 6", "wants 7"});
  expect_refusal(nf4::AbsmaxKind::kPlain, [](nf4::Nf4Tensor& t) { t.nested_map.resize(256); },
                 {"nested_quant_map", "256"});
  expect_refusal(nf4::AbsmaxKind::kNested, [](nf4::Nf4Tensor& t) { t.absmax_codes.push_back(0); },
                 {"absmax (codes)", "8", "7"});
  expect_refusal(nf4::AbsmaxKind::kNested, [](nf4::Nf4Tensor& t) { t.absmax.resize(7); },
                 {"absmax", "0"});
  expect_refusal(nf4::AbsmaxKind::kNested, [](nf4::Nf4Tensor& t) { t.nested_absmax.clear(); },
                 {"nested_absmax", "wants 1"});
  expect_refusal(nf4::AbsmaxKind::kNested, [](nf4::Nf4Tensor& t) { t.nested_map.pop_back(); },
                 {"nested_quant_map", "255", "256"});
}

TEST(Tensor, RefusesIllegalBlocksizes) {
  for (const int blocksize : {0, -64, 63, 16, 8192}) {
    expect_refusal(nf4::AbsmaxKind::kPlain, [&](nf4::Nf4Tensor& t) { t.blocksize = blocksize; },
                   {"blocksize is " + std::to_string(blocksize), "32", "4096"});
  }
}

TEST(Tensor, RefusesShapesThatDisagreeOrOverflow) {
  expect_refusal(nf4::AbsmaxKind::kPlain, [](nf4::Nf4Tensor& t) { t.elements = 384; },
                 {"384", "5x77", "385"});
  expect_refusal(nf4::AbsmaxKind::kPlain, [](nf4::Nf4Tensor& t) { t.shape = {0, 77}; }, {"0x77"});
  expect_refusal(nf4::AbsmaxKind::kPlain, [](nf4::Nf4Tensor& t) { t.shape = {-5, -77}; }, {"-5"});
  // The product is 4 modulo 2^64.
  expect_refusal(nf4::AbsmaxKind::kPlain,
                 [](nf4::Nf4Tensor& t) {
                   t.shape = {4194305, 4194305, 211106198978564};
                   t.elements = 4;
                 },
                 {"64 bits"});
}

}  // namespace
}  // namespace nf4bench
