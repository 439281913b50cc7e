// libnf4 on the GPU, as another program uses it: a runtime of its own, buffers aligned no better
// than they must be, streams, graphs and threads of the caller.

#include "catalog.hpp"
#include "device_call.hpp"
#include "nf4.h"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"
#include "operation/judge.hpp"
#include "operation/product_truth.hpp"
#include "operation/weight.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace nf4bench {
namespace {

using nf4::AbsmaxKind;
using nf4::Nf4Tensor;
using nf4::OutputType;

nf4_status dequantize(const nf4_device& device, const Weight& weight, OutputType type,
                      const DeviceBuffer& output, cudaStream_t stream) {
  return nf4_dequantize(&device, &weight.c, static_cast<std::int32_t>(type), output.data(), stream);
}

// y = x W^T + bias on the GPU, with all that it takes.
class Product {
 public:
  Product(const nf4_device& device, const Weight& weight, OutputType type, std::int64_t tokens)
      : device_(device),
        weight_(weight),
        problem_(weight.problem(type, tokens)),
        host_input_(operation::make_activations(problem_, record::Activations::kNormal, 3)),
        input_(host_input_),
        output_(static_cast<std::size_t>(tokens * problem_.outputs) * size_in_bytes(type)) {
    c_ = {.struct_bytes = sizeof(nf4_product),
          .type = static_cast<std::int32_t>(type),
          .tokens = tokens,
          .input = input_.data(),
          .bias = nullptr,
          .output = output_.data(),
          .workspace = nullptr,
          .workspace_bytes = 0,
          .output_stride = 0};
    status_ = nf4_linear_workspace(&device_, &weight_.c, &c_, &c_.workspace_bytes);
    workspace_ = std::make_unique<DeviceBuffer>(c_.workspace_bytes, 0);
    c_.workspace = workspace_->as<void>();
  }

  bool is_supported() const { return status_ == NF4_OK; }

  void add_bias(std::vector<double> bias) {
    bias_ = std::make_unique<DeviceBuffer>(nf4::to_values(problem_.output_type, bias));
    c_.bias = bias_->data();
    host_bias_ = nf4::to_doubles(problem_.output_type, nf4::to_values(problem_.output_type, bias));
  }

  nf4_status launch(cudaStream_t stream) const {
    return nf4_linear(&device_, &weight_.c, &c_, stream);
  }
  void launch_variant(const kernels::Variant& variant, cudaStream_t stream) const {
    kernels::Job job = weight_.job(problem_);
    job.input = c_.input;
    job.output = c_.output;
    job.workspace = c_.workspace;
    variant.launch(job, {.stream = stream, .device = facts_of(device_)});
  }

  std::vector<std::byte> output() const { return output_.read(); }
  void spoil_output() const { fill_bytes(output_.data(), 0xeb, output_.bytes()); }
  void spoil_workspace(int value) const {
    if (workspace_->bytes() != 0) fill_bytes(workspace_->data(), value, workspace_->bytes());
  }

  record::Verification judge() {
    if (truth_.empty()) {
      truth_ = operation::product_truth(weight_.tensor, problem_, host_input_,
                                        std::numeric_limits<std::int64_t>::max());
    }
    std::vector<operation::ProductTruth> truth = truth_;
    for (std::size_t i = 0; i < truth.size() && !host_bias_.empty(); ++i) {
      truth[i].value += host_bias_[i % host_bias_.size()];
    }
    return operation::compare_products(
        problem_.output_type, operation::bounds_of({problem_.output_type, problem_.inputs}, truth),
        output());
  }

  const kernels::Problem& problem() const { return problem_; }

 private:
  const nf4_device& device_;
  const Weight& weight_;
  kernels::Problem problem_;
  std::vector<std::byte> host_input_;
  DeviceBuffer input_;
  DeviceBuffer output_;
  std::unique_ptr<DeviceBuffer> workspace_;
  std::unique_ptr<DeviceBuffer> bias_;
  std::vector<double> host_bias_;
  std::vector<operation::ProductTruth> truth_;  // without the bias
  nf4_product c_ = {};
  nf4_status status_ = NF4_OK;
};

// The first launch of a kernel by this process is one into a graph: first of all tests.
TEST_F(Libnf4Gpu, AFirstCallMayBeRecorded) {
  const Weight weight({.shape = {1000, 1024}});
  const DeviceBuffer output(weight.decoded_bytes(OutputType::kBfloat16));
  Product product(device_, weight, OutputType::kBfloat16, 3);
  const Stream stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(dequantize(device_, weight, OutputType::kBfloat16, output, stream), NF4_OK);
  EXPECT_EQ(product.launch(stream), NF4_OK);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (int replay = 0; replay < 3; ++replay) {
    fill_bytes(output.data(), 0xeb, output.bytes());
    product.spoil_output();
    ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    stream.wait();
    EXPECT_EQ(output.read(), nf4::reference_dequantize(weight.tensor, OutputType::kBfloat16));
    EXPECT_TRUE(product.judge().passed());
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

TEST_F(Libnf4Gpu, DecodesBitForBit) {
  const Stream stream;
  for (int blocksize = nf4::kMinBlocksize; blocksize <= nf4::kMaxBlocksize; blocksize *= 2) {
    for (const AbsmaxKind kind : {AbsmaxKind::kPlain, AbsmaxKind::kNested}) {
      for (const std::vector<std::int64_t>& shape :
           {std::vector<std::int64_t>{1, 1}, {3, 33}, {257, 65}, {512, 4096}, {100, 40001}}) {
        const Weight weight({.shape = shape,
                             .blocksize = blocksize,
                             .absmax_kind = kind,
                             .distribution = nf4::Distribution::kExtremes});
        for (const OutputType type : nf4::kOutputTypes) {
          const DeviceBuffer output(weight.decoded_bytes(type));
          ASSERT_EQ(dequantize(device_, weight, type, output, stream), NF4_OK);
          stream.wait();
          const record::Verification found = operation::compare_outputs(
              type, nf4::reference_dequantize(weight.tensor, type), output.read());
          EXPECT_TRUE(found.passed())
              << shape[0] << "x" << shape[1] << "/" << blocksize << " " << to_string(kind) << " "
              << to_string(type) << ": " << operation::describe_mismatch(found);
        }
      }
    }
  }
}

struct Shape {
  std::int64_t outputs;
  std::int64_t inputs;
};

constexpr Shape kShapes[] = {{1024, 1024}, {1000, 2112}, {129, 4096}, {77, 515}, {520, 3420}};
constexpr std::int64_t kTokens[] = {1, 2, 4, 5, 8, 16, 17, 64, 65, 130, 300, 513};

// Of each kernel that is chosen on this device; with a bias the rounding is the only one as well.
TEST_F(Libnf4Gpu, MultipliesWithAndWithoutABias) {
  const Stream stream;
  for (const Shape& shape : kShapes) {
    for (const AbsmaxKind kind : {AbsmaxKind::kPlain, AbsmaxKind::kNested}) {
      const Weight weight({.shape = {shape.outputs, shape.inputs}, .absmax_kind = kind});
      for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
        for (const std::int64_t tokens : kTokens) {
          Product product(device_, weight, type, tokens);
          if (!product.is_supported()) continue;
          SCOPED_TRACE(testing::Message() << tokens << " tokens, " << shape.outputs << "x"
                                          << shape.inputs << " " << to_string(type));
          ASSERT_EQ(product.launch(stream), NF4_OK);
          stream.wait();
          record::Verification found = product.judge();
          EXPECT_TRUE(found.passed()) << operation::describe_error(found);
          std::vector<double> bias;
          for (std::int64_t n = 0; n < shape.outputs; ++n) {
            bias.push_back(n % 3 == 0 ? 0.0 : static_cast<double>(n % 17 - 8));
          }
          product.add_bias(bias);
          ASSERT_EQ(product.launch(stream), NF4_OK);
          stream.wait();
          found = product.judge();
          EXPECT_TRUE(found.passed()) << "bias: " << operation::describe_error(found);
        }
      }
    }
  }
}

// A bias of zeros changes no bit, and what lies in the workspace neither.
TEST_F(Libnf4Gpu, GivesTheBitsOfFused) {
  const std::vector<kernels::Variant>& variants = kernels::cuda::matmul().variants;
  const auto fused = std::find_if(variants.begin(), variants.end(), [](const auto& each) {
    return std::string(each.name) == kernels::cuda::matmul().flagship;
  });
  const Stream stream;
  for (const Shape& shape : kShapes) {
    const Weight weight({.shape = {shape.outputs, shape.inputs}});
    for (const std::int64_t tokens : kTokens) {
      if (tokens > nf4_linear_most_tokens(&device_, &weight.c, NF4_BFLOAT16)) continue;
      SCOPED_TRACE(testing::Message()
                   << tokens << " tokens, " << shape.outputs << "x" << shape.inputs);
      Product product(device_, weight, OutputType::kBfloat16, tokens);
      product.launch_variant(*fused, stream);
      stream.wait();
      const std::vector<std::byte> expected = product.output();
      for (const int content : {0, 0xff, 0x5a}) {
        product.spoil_output();
        product.spoil_workspace(content);
        ASSERT_EQ(product.launch(stream), NF4_OK);
        stream.wait();
        EXPECT_EQ(product.output(), expected);
      }
      product.add_bias(std::vector<double>(static_cast<std::size_t>(shape.outputs), -0.0));
      ASSERT_EQ(product.launch(stream), NF4_OK);
      stream.wait();
      EXPECT_EQ(product.output(), expected);
    }
  }
}

TEST_F(Libnf4Gpu, RefusesWhatItCannotDo) {
  const Weight weight({.shape = {256, 256}});
  const DeviceBuffer output(weight.decoded_bytes(OutputType::kFloat32));
  const Stream stream;
  EXPECT_FALSE(Product(device_, weight, OutputType::kFloat32, 1).is_supported());
  nf4_device other = device_;
  other.ordinal = 1;  // not the current one
  EXPECT_EQ(nf4_dequantize(&other, &weight.c, NF4_FLOAT32, output.data(), stream),
            NF4_INVALID_ARGUMENT);
  EXPECT_EQ(nf4_dequantize(&device_, &weight.c, NF4_FLOAT32, output.data() + 8, stream),
            NF4_MISALIGNED);
  nf4_device described_wrongly = device_;
  described_wrongly.compute_capability = 70;
  EXPECT_EQ(nf4_dequantize(&described_wrongly, &weight.c, NF4_FLOAT32, output.data(), stream),
            NF4_UNSUPPORTED);
  EXPECT_EQ(dequantize(device_, weight, OutputType::kFloat32, output, stream), NF4_OK);
  stream.wait();
  EXPECT_EQ(output.read(), nf4::reference_dequantize(weight.tensor, OutputType::kFloat32));
}

TEST_F(Libnf4Gpu, StreamOfAnotherDeviceIsRefusedAndHarmsNothing) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) GTEST_SKIP() << "one device";
  const Weight weight({.shape = {256, 256}});
  const DeviceBuffer output(weight.decoded_bytes(OutputType::kFloat16));
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  {
    const Stream foreign;
    // As another runtime in this process has set it.
    EXPECT_EQ(dequantize(device_, weight, OutputType::kFloat16, output, foreign),
              NF4_INVALID_ARGUMENT);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    EXPECT_EQ(dequantize(device_, weight, OutputType::kFloat16, output, foreign),
              NF4_LAUNCH_FAILED);
  }
  const Stream own;
  EXPECT_EQ(dequantize(device_, weight, OutputType::kFloat16, output, own), NF4_OK);
  own.wait();
  EXPECT_EQ(output.read(), nf4::reference_dequantize(weight.tensor, OutputType::kFloat16));
}

TEST_F(Libnf4Gpu, ThreadsCallAtOnceOnStreamsOfTheirOwn) {
  const Weight weight({.shape = {2048, 2048}});
  const std::vector<std::byte> values =
      nf4::reference_dequantize(weight.tensor, OutputType::kBfloat16);
  std::vector<std::jthread> callers;
  for (const std::int64_t tokens : {1, 3, 7, 33, 200, 600}) {
    callers.emplace_back([&, tokens] {
      ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
      const Stream stream;
      const DeviceBuffer output(weight.decoded_bytes(OutputType::kBfloat16));
      const Product product(device_, weight, OutputType::kBfloat16, tokens);
      ASSERT_EQ(product.launch(stream), NF4_OK);
      stream.wait();
      const std::vector<std::byte> expected = product.output();
      for (int call = 0; call < 50; ++call) {
        ASSERT_EQ(product.launch(stream), NF4_OK);
        ASSERT_EQ(dequantize(device_, weight, OutputType::kBfloat16, output, stream), NF4_OK);
      }
      stream.wait();
      EXPECT_EQ(product.output(), expected);
      EXPECT_EQ(output.read(), values);
    });
  }
}

// Zeros, and behind more than 2^31 of them a weight that is known.
TEST_F(Libnf4Gpu, CountsBeyondTwoToThe31) {
  constexpr std::int64_t kInputs = 8192;
  constexpr std::int64_t kBefore = (std::int64_t{1} << 31) / kInputs + 64;
  constexpr std::int64_t kKnown = 64;
  const Nf4Tensor known =
      nf4::make_synthetic({.shape = {kKnown, kInputs}, .absmax_kind = AbsmaxKind::kPlain});
  constexpr auto kElements = static_cast<std::size_t>((kBefore + kKnown) * kInputs);
  const DeviceBuffer packed(kElements / 2);
  const DeviceBuffer absmax(kElements / 64 * sizeof(float));
  const DeviceBuffer output(kElements * 2);
  fill_bytes(absmax.data(), 0, absmax.bytes());
  const auto end_with = [](const DeviceBuffer& buffer, const auto& values) {
    const std::size_t bytes = values.size() * sizeof(values[0]);
    copy_bytes(buffer.data() + buffer.bytes() - bytes, values.data(), bytes);
  };
  end_with(packed, known.packed);
  end_with(absmax, known.absmax);
  const nf4_weight weight = {.struct_bytes = sizeof(nf4_weight),
                             .blocksize = 64,
                             .outputs = kBefore + kKnown,
                             .inputs = kInputs,
                             .packed = packed.as<std::uint8_t>(),
                             .absmax = absmax.as<float>(),
                             .absmax_codes = nullptr,
                             .nested_absmax = nullptr,
                             .nested_map = nullptr,
                             .nested_offset = nullptr};
  const Stream stream;
  ASSERT_EQ(nf4_dequantize(&device_, &weight, NF4_BFLOAT16, output.data(), stream), NF4_OK);
  stream.wait();
  std::vector<std::byte> last(static_cast<std::size_t>(kKnown * kInputs) * 2);
  copy_bytes(last.data(), output.data() + output.bytes() - last.size(), last.size());
  EXPECT_EQ(last, nf4::reference_dequantize(known, OutputType::kBfloat16));

  for (const std::int64_t tokens : {1, 3, 24}) {
    kernels::Problem problem = operation::problem_of(known, OutputType::kBfloat16);
    problem.outputs = kKnown;
    problem.inputs = kInputs;
    problem.tokens = tokens;
    const std::vector<std::byte> input =
        operation::make_activations(problem, record::Activations::kNormal, 3);
    const DeviceBuffer x(input);
    const DeviceBuffer y(static_cast<std::size_t>(tokens * weight.outputs) * 2);
    nf4_product product = {.struct_bytes = sizeof(nf4_product),
                           .type = NF4_BFLOAT16,
                           .tokens = tokens,
                           .input = x.data(),
                           .bias = nullptr,
                           .output = y.data(),
                           .workspace = nullptr,
                           .workspace_bytes = 0,
                           .output_stride = 0};
    if (nf4_linear_workspace(&device_, &weight, &product, &product.workspace_bytes) != NF4_OK) {
      continue;
    }
    const DeviceBuffer workspace(product.workspace_bytes, 0);
    product.workspace = workspace.as<void>();
    ASSERT_EQ(nf4_linear(&device_, &weight, &product, stream), NF4_OK);
    stream.wait();
    const std::vector<std::byte> all = y.read();
    std::vector<std::byte> of_known;
    for (std::int64_t m = 0; m < tokens; ++m) {
      const auto end = all.begin() + (m + 1) * weight.outputs * 2;
      of_known.insert(of_known.end(), end - kKnown * 2, end);
    }
    const auto truth =
        operation::product_truth(known, problem, input, std::numeric_limits<std::int64_t>::max());
    const record::Verification found = operation::compare_products(
        OutputType::kBfloat16, operation::bounds_of({OutputType::kBfloat16, kInputs}, truth),
        of_known);
    EXPECT_TRUE(found.passed()) << tokens << ": " << operation::describe_error(found);
  }
}

}  // namespace
}  // namespace nf4bench
