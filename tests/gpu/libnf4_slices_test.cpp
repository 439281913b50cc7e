// Products that are written into slices of the rows of a larger output, as of a weight in shards:
// the bits are those of an output without gaps, and nothing beside them is written.

#include "catalog.hpp"
#include "device_call.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace nf4bench {
namespace {

using nf4::OutputType;

constexpr std::int64_t kTokens[] = {1, 2, 3, 4, 5, 8, 16, 17, 64, 65, 130, 300, 512};
constexpr std::int64_t kValueBytes = 2;              // of both types
constexpr std::int64_t kAligned = 16 / kValueBytes;  // values between where slices may begin

// Rows of 16-bit values in device memory, which ends with the last of them.
class Rows {
 public:
  Rows(std::int64_t tokens, std::int64_t columns, std::int64_t stride)
      : stride_(stride),
        memory_(static_cast<std::size_t>(((tokens - 1) * stride + columns) * kValueBytes)) {}

  std::byte* at(std::int64_t column) const { return memory_.data() + column * kValueBytes; }
  std::vector<std::byte> read() const { return memory_.read(); }
  std::int64_t stride() const { return stride_; }

 private:
  std::int64_t stride_;
  DeviceBuffer memory_;
};

// Puts the rows of a product without gaps where a slice has them.
void place(const std::vector<std::byte>& product, std::int64_t columns, std::int64_t stride,
           std::int64_t first, std::vector<std::byte>& rows) {
  const std::int64_t row_bytes = columns * kValueBytes;
  const auto tokens = static_cast<std::int64_t>(product.size()) / row_bytes;
  for (std::int64_t m = 0; m < tokens; ++m) {
    std::copy_n(product.begin() + m * row_bytes, row_bytes,
                rows.begin() + (m * stride + first) * kValueBytes);
  }
}

class Libnf4Slices : public Libnf4Gpu {
 protected:
  // Of activations and a bias in device memory.
  struct Inputs {
    kernels::Problem problem;
    DeviceBuffer input;
    DeviceBuffer bias;

    Inputs(const Weight& weight, OutputType type, std::int64_t tokens)
        : problem(weight.problem(type, tokens)),
          input(operation::make_activations(problem, record::Activations::kNormal, 3)),
          bias(operation::make_activations(weight_row(problem), record::Activations::kNormal, 5)) {}

   private:
    static kernels::Problem weight_row(kernels::Problem problem) {
      problem.tokens = 1;
      problem.inputs = problem.outputs;
      return problem;
    }
  };

  // Whether libnf4 can; then it has.
  bool multiply(const Weight& weight, const Inputs& from, const Rows& rows, std::int64_t first) {
    nf4_product product = {.struct_bytes = sizeof(nf4_product),
                           .type = static_cast<std::int32_t>(from.problem.output_type),
                           .tokens = from.problem.tokens,
                           .input = from.input.data(),
                           .bias = from.bias.data(),
                           .output = rows.at(first),
                           .workspace = nullptr,
                           .workspace_bytes = 0,
                           .output_stride = rows.stride()};
    const nf4_status status =
        nf4_linear_workspace(&device_, &weight.c, &product, &product.workspace_bytes);
    if (status == NF4_UNSUPPORTED) return false;
    EXPECT_EQ(status, NF4_OK);
    const DeviceBuffer workspace(product.workspace_bytes, 0);
    product.workspace = workspace.as<void>();
    EXPECT_EQ(nf4_linear(&device_, &weight.c, &product, nullptr), NF4_OK);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return true;
  }

  void multiply(const kernels::Variant& variant, const Weight& weight, const Inputs& from,
                const Rows& rows) const {
    kernels::Job job = weight.job(from.problem);
    job.output_gap = rows.stride() - job.outputs;
    job.input = from.input.data();
    job.bias = from.bias.data();
    job.output = rows.at(0);
    const kernels::Launch launch = {.device = facts_of(device_)};
    const DeviceBuffer workspace(static_cast<std::size_t>(workspace_of(variant, job, launch)), 0);
    job.workspace = workspace.as<void>();
    variant.launch(job, launch);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << variant.name;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << variant.name;
  }
};

TEST_F(Libnf4Slices, OfShardsAreThoseOfOneOutput) {
  const std::vector<std::vector<std::int64_t>> kShards = {{512, 128, 128}, {77, 130, 1}};
  for (const std::vector<std::int64_t>& outputs : kShards) {
    for (const std::int64_t inputs : {1024, 515}) {
      std::vector<std::unique_ptr<Weight>> weights;
      std::vector<std::int64_t> first;
      std::int64_t columns = kAligned;  // what stands in front is no shard's
      for (const std::int64_t each : outputs) {
        weights.push_back(std::make_unique<Weight>(nf4::SyntheticSpec{.shape = {each, inputs}}));
        first.push_back(columns);
        columns = kernels::block_count(columns + each, kAligned) * kAligned;
      }
      for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
        for (const std::int64_t tokens : kTokens) {
          for (const std::int64_t stride : {columns, columns + 1}) {
            SCOPED_TRACE(testing::Message() << tokens << " tokens, " << outputs[0] << "x" << inputs
                                            << " in rows of " << stride << ", " << to_string(type));
            const Rows all(tokens, columns, stride);
            std::vector<std::byte> expected = all.read();
            bool can = true;
            for (std::size_t i = 0; can && i < weights.size(); ++i) {
              const Inputs from(*weights[i], type, tokens);
              const Rows alone(tokens, outputs[i], outputs[i]);
              can = multiply(*weights[i], from, alone, 0) &&
                    multiply(*weights[i], from, all, first[i]);
              place(alone.read(), outputs[i], stride, first[i], expected);
            }
            if (can) {
              EXPECT_EQ(all.read(), expected);
            }
          }
        }
      }
    }
  }
}

// What the flagship chooses from, and libnf4 with it, but for the way over a BLAS.
std::vector<kernels::Variant> own_kernels() {
  const kernels::Catalog& catalog = kernels::cuda::matmul();
  const auto named = [&](std::string_view name) {
    return *std::find_if(catalog.variants.begin(), catalog.variants.end(),
                         [&](const auto& each) { return each.name == name; });
  };
  std::vector<kernels::Variant> own;
  for (const char* const* name = named(catalog.flagship).configs; *name != nullptr; ++name) {
    if (std::string_view(*name) != "decode_cublas") own.push_back(named(*name));
  }
  return own;
}

struct Sizes {
  std::int64_t outputs;
  std::int64_t inputs;
  std::vector<std::int64_t> tokens;
};

// Also of kernels that another one is faster than, on this device and for these sizes.
TEST_F(Libnf4Slices, OfEachKernelAreItsProduct) {
  const std::vector<std::int64_t> all(std::begin(kTokens), std::end(kTokens));
  // The last are more values than Turing multiplies at once in bfloat16.
  const Sizes kSizes[] = {{1000, 2112, all}, {129, 2112, all}, {72, 32768, {300}}};
  std::map<std::string_view, int> runs;
  for (const Sizes& sizes : kSizes) {
    const Weight weight({.shape = {sizes.outputs, sizes.inputs}});
    for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
      for (const std::int64_t tokens : sizes.tokens) {
        const Inputs from(weight, type, tokens);
        for (const kernels::Variant& variant : own_kernels()) {
          if (why_unsupported(variant, from.problem, facts_of(device_)) != nullptr) continue;
          ++runs[variant.name];
          const Rows alone(tokens, sizes.outputs, sizes.outputs);
          multiply(variant, weight, from, alone);
          for (const std::int64_t gap : {1, 2, 7, 1024}) {
            const Rows rows(tokens, sizes.outputs, sizes.outputs + gap);
            std::vector<std::byte> expected = rows.read();
            multiply(variant, weight, from, rows);
            place(alone.read(), sizes.outputs, rows.stride(), 0, expected);
            EXPECT_EQ(rows.read(), expected)
                << variant.name << ", " << tokens << " tokens, " << sizes.outputs << " outputs and "
                << gap << ", " << to_string(type);
          }
        }
      }
    }
  }
  for (const kernels::Variant& variant : own_kernels()) {
    EXPECT_TRUE(runs[variant.name] > 0 || device_.compute_capability != 90) << variant.name;
  }
}

}  // namespace
}  // namespace nf4bench
