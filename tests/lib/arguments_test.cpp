// What libnf4 says of arguments, right and wrong.

#include "lib/host_call.hpp"
#include "nf4/synthetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kRoot = std::int64_t{1} << 32;  // its square overflows

nf4_weight shape(std::int64_t outputs, std::int64_t inputs) {
  nf4_weight weight = {};
  weight.struct_bytes = sizeof(weight);
  weight.blocksize = 64;
  weight.outputs = outputs;
  weight.inputs = inputs;
  return weight;
}

nf4_product tokens(std::int64_t count, std::int32_t type = NF4_BFLOAT16) {
  nf4_product product = {};
  product.struct_bytes = sizeof(product);
  product.type = type;
  product.tokens = count;
  return product;
}

nf4_device gpu(std::int32_t compute_capability) {
  nf4_device device = {};
  device.struct_bytes = sizeof(device);
  device.kind = NF4_CUDA;
  device.compute_capability = compute_capability;
  device.multiprocessors = 132;
  device.l2_bytes = std::int64_t{50} << 20;
  return device;
}

bool has_cuda() {
  const nf4_device device = gpu(90);
  const nf4_weight weight = shape(1024, 1024);
  const nf4_product product = tokens(1);
  std::size_t bytes = 0;
  return nf4_linear_workspace(&device, &weight, &product, &bytes) == NF4_OK;
}

TEST(Libnf4Arguments, VersionIsThatOfTheHeader) {
  EXPECT_EQ(nf4_version() / 100, 100u * NF4_VERSION_MAJOR + NF4_VERSION_MINOR);
}

TEST(Libnf4Arguments, EveryStatusHasAMeaningOfItsOwn) {
  std::set<std::string> meanings;
  for (int status = NF4_OK; status <= NF4_LAUNCH_FAILED; ++status) {
    meanings.insert(nf4_error_string(status));
  }
  EXPECT_EQ(meanings.size(), 7u);
  for (const std::int32_t none : {-1, 7, 1 << 30}) {
    EXPECT_STREQ(nf4_error_string(none), "not an nf4_status");
  }
  EXPECT_THAT(nf4_error_string(NF4_WORKSPACE_TOO_SMALL), HasSubstr("nf4_linear_workspace"));
}

TEST(Libnf4Device, OfTheCpuIsDescribed) {
  nf4_device device = {};
  device.struct_bytes = sizeof(device);
  ASSERT_EQ(nf4_query_device(NF4_CPU, 0, &device), NF4_OK);
  EXPECT_EQ(device.struct_bytes, sizeof(device));
  EXPECT_EQ(device.kind, NF4_CPU);
  EXPECT_EQ(device.ordinal, 0);
  EXPECT_EQ(device.compute_capability, 0);
  EXPECT_GE(device.multiprocessors, 1);
  EXPECT_GE(device.l2_bytes, 0);
}

TEST(Libnf4Device, ThatThereIsNot) {
  nf4_device device = {};
  device.struct_bytes = sizeof(device);
  for (const std::int32_t ordinal : {-1, 1, 1 << 20}) {
    EXPECT_EQ(nf4_query_device(NF4_CPU, ordinal, &device), NF4_NO_DEVICE);
  }
  for (const std::int32_t ordinal : {-1, 1 << 20}) {
    EXPECT_EQ(nf4_query_device(NF4_CUDA, ordinal, &device),
              has_cuda() ? NF4_NO_DEVICE : NF4_UNSUPPORTED);
  }
  EXPECT_EQ(nf4_query_device(2, 0, &device), NF4_INVALID_ARGUMENT);
  EXPECT_EQ(nf4_query_device(NF4_CPU, 0, nullptr), NF4_INVALID_ARGUMENT);
  device.struct_bytes = sizeof(device) - 1;
  EXPECT_EQ(nf4_query_device(NF4_CPU, 0, &device), NF4_INVALID_ARGUMENT);
}

TEST(Libnf4Device, OfALaterVersionIsFilledWithZerosFromWhereThisOneEnds) {
  struct Later {
    nf4_device device;
    std::int64_t more[2];
  } later = {.device = {}, .more = {5, 5}};
  later.device.struct_bytes = sizeof(later);
  ASSERT_EQ(nf4_query_device(NF4_CPU, 0, &later.device), NF4_OK);
  EXPECT_EQ(later.device.struct_bytes, sizeof(later));
  EXPECT_EQ(later.more[0], 0);
  EXPECT_EQ(later.more[1], 0);
}

// Calls that are right but for what `spoil` changes.
struct Call {
  HostWeight host_weight{nf4::make_synthetic({.shape = {64, 96}})};
  nf4_device device = cpu_device();
  nf4_weight weight = host_weight.c();
  HostProduct host_product{weight, nf4::OutputType::kBfloat16, std::vector<std::byte>(3 * 96 * 2)};
  nf4_product product = host_product.product;
  HostBuffer decoded{64 * 96 * 2};
  void* output = decoded.data();
  void* stream = nullptr;
  std::int32_t type = NF4_BFLOAT16;

  nf4_status dequantize() const { return nf4_dequantize(&device, &weight, type, output, stream); }
  nf4_status linear() const { return nf4_linear(&device, &weight, &product, stream); }
};

struct Spoiled {
  const char* what;
  nf4_status status;
  std::function<void(Call&)> spoil;
};

template <typename T>
T* moved(T* pointer, int bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) +
                              static_cast<std::uintptr_t>(bytes));
}

const std::vector<Spoiled> kSpoiled = {
    {"nothing", NF4_OK, [](Call&) {}},
    {"device of an earlier version", NF4_INVALID_ARGUMENT,
     [](Call& c) { --c.device.struct_bytes; }},
    {"weight without a size", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.struct_bytes = 0; }},
    {"a struct's size that cannot be", NF4_INVALID_ARGUMENT,
     [](Call& c) { c.weight.struct_bytes = ~0u; }},
    {"kind", NF4_INVALID_ARGUMENT, [](Call& c) { c.device.kind = 2; }},
    {"kind below zero", NF4_INVALID_ARGUMENT, [](Call& c) { c.device.kind = -1; }},
    {"another CPU", NF4_INVALID_ARGUMENT, [](Call& c) { c.device.ordinal = 1; }},
    {"no threads", NF4_INVALID_ARGUMENT, [](Call& c) { c.device.multiprocessors = 0; }},
    {"fewer than no threads", NF4_INVALID_ARGUMENT, [](Call& c) { c.device.multiprocessors = -5; }},
    {"a stream of the CPU", NF4_INVALID_ARGUMENT, [](Call& c) { c.stream = &c; }},
    {"blocksize 0", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.blocksize = 0; }},
    {"blocksize 16", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.blocksize = 16; }},
    {"blocksize 65", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.blocksize = 65; }},
    {"blocksize 8192", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.blocksize = 8192; }},
    {"blocksize below zero", NF4_INVALID_ARGUMENT,
     [](Call& c) { c.weight.blocksize = std::numeric_limits<std::int32_t>::min(); }},
    {"no outputs", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.outputs = 0; }},
    {"inputs below zero", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.inputs = -96; }},
    {"both below zero", NF4_INVALID_ARGUMENT,
     [](Call& c) { c.weight.outputs = c.weight.inputs = -96; }},
    {"more elements than 2^63", NF4_INVALID_ARGUMENT,
     [](Call& c) { c.weight.outputs = c.weight.inputs = kRoot; }},
    {"all the outputs there are", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.outputs = kMost; }},
    {"no packed weight", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.packed = nullptr; }},
    {"no scales", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.absmax_codes = nullptr; }},
    {"scales of both kinds", NF4_INVALID_ARGUMENT,
     [](Call& c) { c.weight.absmax = c.weight.nested_absmax; }},
    {"no nested absmax", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.nested_absmax = nullptr; }},
    {"no nested map", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.nested_map = nullptr; }},
    {"no nested offset", NF4_INVALID_ARGUMENT, [](Call& c) { c.weight.nested_offset = nullptr; }},
    {"packed weight that is not aligned", NF4_MISALIGNED,
     [](Call& c) { c.weight.packed = moved(c.weight.packed, 8); }},
    {"codes that are not aligned", NF4_MISALIGNED,
     [](Call& c) { c.weight.absmax_codes = moved(c.weight.absmax_codes, 1); }},
    {"nested absmax that is not aligned", NF4_MISALIGNED,
     [](Call& c) { c.weight.nested_absmax = moved(c.weight.nested_absmax, 4); }},
    {"nested map that is not aligned", NF4_MISALIGNED,
     [](Call& c) { c.weight.nested_map = moved(c.weight.nested_map, 12); }},
    {"nested offset that is not aligned", NF4_MISALIGNED,
     [](Call& c) { c.weight.nested_offset = moved(c.weight.nested_offset, 2); }},
};

TEST(Libnf4Arguments, OfBothCallsAreChecked) {
  for (const Spoiled& each : kSpoiled) {
    Call call;
    each.spoil(call);
    EXPECT_EQ(call.dequantize(), each.status) << each.what;
    EXPECT_EQ(call.linear(), each.status) << each.what;
  }
}

TEST(Libnf4Arguments, OfDequantizeAreChecked) {
  Call call;
  for (const std::int32_t type : {-1, 3, 100}) {
    call.type = type;
    EXPECT_EQ(call.dequantize(), NF4_INVALID_ARGUMENT) << type;
  }
  call.type = NF4_FLOAT16;
  call.output = moved(call.output, 8);
  EXPECT_EQ(call.dequantize(), NF4_MISALIGNED);
  call.output = nullptr;
  EXPECT_EQ(call.dequantize(), NF4_INVALID_ARGUMENT);
  const nf4_weight weight = call.weight;
  EXPECT_EQ(nf4_dequantize(nullptr, &weight, NF4_FLOAT16, call.decoded.data(), nullptr),
            NF4_INVALID_ARGUMENT);
  EXPECT_EQ(nf4_dequantize(&call.device, nullptr, NF4_FLOAT16, call.decoded.data(), nullptr),
            NF4_INVALID_ARGUMENT);
}

TEST(Libnf4Arguments, OfLinearAreChecked) {
  const std::vector<Spoiled> spoiled = {
      {"product of an earlier version", NF4_INVALID_ARGUMENT,
       [](Call& c) { --c.product.struct_bytes; }},
      {"type", NF4_INVALID_ARGUMENT, [](Call& c) { c.product.type = 3; }},
      {"no tokens", NF4_INVALID_ARGUMENT, [](Call& c) { c.product.tokens = 0; }},
      {"tokens below zero", NF4_INVALID_ARGUMENT, [](Call& c) { c.product.tokens = -1; }},
      {"more values than 2^63", NF4_INVALID_ARGUMENT, [](Call& c) { c.product.tokens = kMost; }},
      {"more bytes than 2^63", NF4_INVALID_ARGUMENT,
       [](Call& c) { c.product.tokens = kMost / 96; }},
      {"rows of the output that overlap", NF4_INVALID_ARGUMENT,
       [](Call& c) { c.product.output_stride = 63; }},
      {"rows of the output that go backwards", NF4_INVALID_ARGUMENT,
       [](Call& c) { c.product.output_stride = -64; }},
      {"rows of the output that no memory holds", NF4_INVALID_ARGUMENT,
       [](Call& c) { c.product.output_stride = kMost; }},
      {"rows of the output without gaps", NF4_OK, [](Call& c) { c.product.output_stride = 64; }},
      {"no input", NF4_INVALID_ARGUMENT, [](Call& c) { c.product.input = nullptr; }},
      {"no output", NF4_INVALID_ARGUMENT, [](Call& c) { c.product.output = nullptr; }},
      {"no workspace", NF4_INVALID_ARGUMENT, [](Call& c) { c.product.workspace = nullptr; }},
      {"input that is not aligned", NF4_MISALIGNED,
       [](Call& c) { c.product.input = moved(c.product.input, 2); }},
      {"output that is not aligned", NF4_MISALIGNED,
       [](Call& c) { c.product.output = moved(c.product.output, 8); }},
      {"bias that is not aligned", NF4_MISALIGNED,
       [](Call& c) { c.product.bias = moved(c.product.input, 2); }},
      {"workspace that is not aligned", NF4_MISALIGNED,
       [](Call& c) { c.product.workspace = moved(c.product.workspace, 128); }},
      {"workspace of a byte too few", NF4_WORKSPACE_TOO_SMALL,
       [](Call& c) { --c.product.workspace_bytes; }},
      {"no bytes of workspace", NF4_WORKSPACE_TOO_SMALL,
       [](Call& c) { c.product.workspace_bytes = 0; }},
  };
  for (const Spoiled& each : spoiled) {
    Call call;
    each.spoil(call);
    EXPECT_EQ(call.linear(), each.status) << each.what;
  }
  Call call;
  EXPECT_EQ(nf4_linear(&call.device, &call.weight, nullptr, nullptr), NF4_INVALID_ARGUMENT);
  EXPECT_EQ(nf4_linear(&call.device, nullptr, &call.product, nullptr), NF4_INVALID_ARGUMENT);
  EXPECT_EQ(nf4_linear(nullptr, &call.weight, &call.product, nullptr), NF4_INVALID_ARGUMENT);
}

// Of programs from before it had a stride, whose memory behind it is anything.
TEST(Libnf4Arguments, AProductMayEndBeforeTheStride) {
  Call call;
  call.product.struct_bytes = offsetof(nf4_product, output_stride);
  call.product.output_stride = -1;
  EXPECT_EQ(call.linear(), NF4_OK);
  std::size_t bytes = 0;
  EXPECT_EQ(nf4_linear_workspace(&call.device, &call.weight, &call.product, &bytes), NF4_OK);
  --call.product.struct_bytes;
  EXPECT_EQ(call.linear(), NF4_INVALID_ARGUMENT);
}

TEST(Libnf4Arguments, OfLaterVersionsMayBeLongerIfTheyAreZeroThere) {
  Call call;
  struct Later {
    nf4_weight weight;
    std::int64_t more[3];
  } later = {.weight = call.weight, .more = {}};
  later.weight.struct_bytes = sizeof(later);
  EXPECT_EQ(nf4_linear(&call.device, &later.weight, &call.product, nullptr), NF4_OK);
  later.more[2] = 1;
  EXPECT_EQ(nf4_linear(&call.device, &later.weight, &call.product, nullptr), NF4_UNSUPPORTED);
}

TEST(Libnf4Workspace, IsAskedForWithoutBuffers) {
  const nf4_device device = cpu_device();
  const nf4_weight weight = shape(64, 96);
  const nf4_product product = tokens(3);
  std::size_t bytes = 0;
  ASSERT_EQ(nf4_linear_workspace(&device, &weight, &product, &bytes), NF4_OK);
  EXPECT_EQ(bytes, 3u * 96 * sizeof(float));
  EXPECT_EQ(nf4_linear_workspace(&device, &weight, &product, nullptr), NF4_INVALID_ARGUMENT);
  EXPECT_EQ(nf4_linear_workspace(&device, &weight, nullptr, &bytes), NF4_INVALID_ARGUMENT);
  const nf4_product none = tokens(0);
  EXPECT_EQ(nf4_linear_workspace(&device, &weight, &none, &bytes), NF4_INVALID_ARGUMENT);
}

TEST(Libnf4MostTokens, OfTheCpu) {
  const nf4_device device = cpu_device();
  nf4_weight weight = shape(4096, 4096);
  for (const std::int32_t type : {NF4_FLOAT16, NF4_BFLOAT16, NF4_FLOAT32}) {
    EXPECT_EQ(nf4_linear_most_tokens(&device, &weight, type), 512);
  }
  EXPECT_EQ(nf4_linear_most_tokens(&device, &weight, 3), 0);
  EXPECT_EQ(nf4_linear_most_tokens(nullptr, &weight, NF4_FLOAT16), 0);
  weight.outputs = 0;
  EXPECT_EQ(nf4_linear_most_tokens(&device, &weight, NF4_FLOAT16), 0);
}

class Libnf4Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_cuda()) GTEST_SKIP() << "a build without CUDA";
  }

  static std::int64_t most_tokens(std::int32_t capability, const nf4_weight& weight,
                                  std::int32_t type = NF4_BFLOAT16) {
    const nf4_device device = gpu(capability);
    return nf4_linear_most_tokens(&device, &weight, type);
  }
};

// As `fused` chooses, which tests/kernels pins.
TEST_F(Libnf4Cuda, KnowsUpToHowManyTokensItIsFaster) {
  EXPECT_EQ(most_tokens(90, shape(4096, 4096)), 1 << 20);
  EXPECT_EQ(most_tokens(90, shape(28672, 8192)), 1 << 20);
  EXPECT_EQ(most_tokens(80, shape(4096, 4096)), 384);
  EXPECT_EQ(most_tokens(80, shape(8192, 4096)), 1152);
  EXPECT_EQ(most_tokens(90, shape(4096, 4095)), 64);
  EXPECT_EQ(most_tokens(75, shape(4096, 4096)), 1 << 20);
  EXPECT_EQ(most_tokens(75, shape(4096, 4095)), 24);
  EXPECT_EQ(most_tokens(90, shape(4096, 4096), NF4_FLOAT32), 0);
}

TEST_F(Libnf4Cuda, MultipliesAnyNumberOfTokensWhereAKernelCan) {
  const nf4_weight weight = shape(4096, 4096);
  const auto can = [&](std::int32_t capability, const nf4_product& product) {
    const nf4_device device = gpu(capability);
    std::size_t bytes = 0;
    return nf4_linear_workspace(&device, &weight, &product, &bytes);
  };
  for (const std::int64_t count : {1, 17, 64, 65, 512, 513, 100000}) {
    EXPECT_EQ(can(80, tokens(count)), NF4_OK) << count;
    EXPECT_EQ(can(90, tokens(count)), NF4_OK) << count;
    EXPECT_EQ(can(120, tokens(count)), NF4_OK) << count;
    EXPECT_EQ(can(90, tokens(count, NF4_FLOAT32)), NF4_UNSUPPORTED) << count;
    EXPECT_EQ(can(75, tokens(count)), NF4_OK) << count;
  }
  EXPECT_EQ(can(70, tokens(1)), NF4_UNSUPPORTED);
}

// Sizes that a kernel's plan must not choke on.
TEST_F(Libnf4Cuda, AnswersAtOnceForShapesThatNobodyHas) {
  const nf4_device device = gpu(90);
  for (const auto& [outputs, inputs] : {std::pair{std::int64_t{1}, std::int64_t{1} << 31},
                                        {std::int64_t{1} << 40, 64},
                                        {std::int64_t{1} << 46, 1},
                                        {std::int64_t{1} << 28, 64},
                                        {1, std::int64_t{1} << 46},
                                        {std::int64_t{1} << 23, std::int64_t{1} << 23},
                                        {std::int64_t{1} << 14, 1 << 22}}) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{16}, std::int64_t{1} << 30}) {
      const nf4_weight weight = shape(outputs, inputs);
      const nf4_product product = tokens(count);
      std::size_t bytes = 0;
      const nf4_status status = nf4_linear_workspace(&device, &weight, &product, &bytes);
      EXPECT_TRUE(status == NF4_OK || status == NF4_UNSUPPORTED || status == NF4_INVALID_ARGUMENT)
          << outputs << "x" << inputs << " " << count << ": " << nf4_error_string(status);
      if (status == NF4_OK) {
        EXPECT_LT(bytes, std::size_t{1} << 40);
      }
    }
  }
}

TEST_F(Libnf4Cuda, DeviceIsChecked) {
  const nf4_weight weight = shape(4096, 4096);
  for (const std::int32_t multiprocessors : {0, -1, 1 << 30}) {
    nf4_device device = gpu(90);
    device.multiprocessors = multiprocessors;
    EXPECT_EQ(nf4_linear_most_tokens(&device, &weight, NF4_FLOAT16), 0) << multiprocessors;
  }
}

}  // namespace
}  // namespace nf4bench::test
