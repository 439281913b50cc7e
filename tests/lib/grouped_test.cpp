// Products with stacks of experts through libnf4, on the CPU.

#include "kernels/grouped_case.hpp"
#include "lib/host_call.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace nf4bench::test {
namespace {

// A call of which all is right but what a test changes.
class GroupedCall {
 public:
  explicit GroupedCall(const GroupedCase& of)
      : weight_(of.weight()),
        input_(of.input),
        bias_(of.bias),
        weights_(of.weights),
        ids_(of.ids),
        output_(of.output_bytes()),
        weight(weight_.c()) {
    const kernels::Problem& problem = of.problem();
    const kernels::Grouping& group = problem.group;
    if (problem.transposed) {
      weight.outputs = group.experts * problem.inputs;
      weight.inputs = problem.outputs;
    }
    stack.struct_bytes = sizeof(stack);
    stack.transposed = problem.transposed ? 1 : 0;
    stack.experts = group.experts;
    stack.weight = &weight;
    stack.bias = bias_.as<void>();
    routing.struct_bytes = sizeof(routing);
    routing.kind = group.ends ? NF4_ENDS : NF4_TOP_K;
    routing.id_bytes = group.id_bytes;
    routing.weight_type = static_cast<std::int32_t>(problem.output_type);
    routing.tokens = problem.tokens;
    routing.top_k = group.top_k;
    routing.ids = ids_.data();
    routing.weights = weights_.as<void>();
    routing.sums_slots = group.sums_slots ? 1 : 0;
    product.struct_bytes = sizeof(product);
    product.type = static_cast<std::int32_t>(problem.output_type);
    product.tokens = group.slots_have_rows ? kernels::slots_of(problem) : problem.tokens;
    product.input = input_.data();
    product.output = output_.data();
  }

  nf4_status run() {
    const nf4_device device = cpu_device();
    std::size_t bytes = 0;
    const nf4_status status =
        nf4_grouped_linear_workspace(&device, &stack, &routing, &product, &bytes);
    if (status != NF4_OK) return status;
    const HostBuffer workspace(bytes, 0);
    product.workspace = workspace.data();
    product.workspace_bytes = bytes;
    return nf4_grouped_linear(&device, &stack, &routing, &product, nullptr);
  }

  std::span<const std::byte> output() const { return output_.span(); }

 private:
  HostWeight weight_;
  HostBuffer input_;
  HostBuffer bias_;
  HostBuffer weights_;
  HostBuffer ids_;
  HostBuffer output_;

 public:
  nf4_weight weight;
  nf4_stack stack = {};
  nf4_routing routing = {};
  nf4_product product = {};
};

TEST(Libnf4Grouped, MultipliesRowsWithTheExpertsTheyChose) {
  const GroupedSizes sizes = {.experts = 6, .top_k = 3, .tokens = 9, .outputs = 40, .inputs = 96};
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    for (const bool is_other : {false, true}) {
      GroupedOptions options = {.type = type};
      options.absmax = is_other ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain;
      options.transposed = options.group.sums_slots = is_other;
      options.group.slots_have_rows = !is_other;
      options.has_bias = options.has_weights = is_other;
      const GroupedCase product(sizes, options, even_ids(sizes, 3));
      GroupedCall call(product);
      ASSERT_EQ(call.run(), NF4_OK);
      EXPECT_EQ(product.judge(call.output()), "") << to_string(type) << is_other;
    }
  }
}

// What stands between the products, from its definition.
double activated(const nf4_experts_options& options, double gate, double up) {
  if (options.limit > 0.0f) {
    gate = std::min<double>(gate, options.limit);
    up = std::clamp<double>(up, -options.limit, options.limit);
  }
  switch (options.activation) {
    case NF4_SILU:
      return gate / (1.0 + std::exp(-gate)) * up;
    case NF4_GELU_TANH:
      return gate / 2.0 *
             (1.0 + std::tanh(std::sqrt(2.0 / std::acos(-1.0)) *
                              (gate + 0.044715 * gate * gate * gate))) *
             up;
    case NF4_GPTOSS:
      return (up + 1.0) * gate / (1.0 + std::exp(-options.alpha * gate));
    default:
      return std::max(gate, 0.0) * std::max(gate, 0.0) * up;
  }
}

TEST(Libnf4Experts, ComputesALayer) {
  const std::int64_t kHidden = 40;
  const std::int64_t kInner = 24;
  for (const std::int32_t activation : {NF4_SILU, NF4_GELU_TANH, NF4_GPTOSS, NF4_RELU2}) {
    const bool is_gated = activation != NF4_RELU2;
    nf4_experts_options options = {};
    options.struct_bytes = sizeof(options);
    options.activation = activation;
    options.gated = is_gated ? 1 : 0;
    options.interleaved = activation == NF4_GPTOSS ? 1 : 0;
    options.alpha = 1.702f;
    options.limit = activation == NF4_GPTOSS ? 0.1f : 0.0f;
    const GroupedSizes first = {.experts = 5,
                                .top_k = 2,
                                .tokens = 7,
                                .outputs = is_gated ? 2 * kInner : kInner,
                                .inputs = kHidden};
    GroupedSizes second = first;
    second.outputs = kHidden;
    second.inputs = kInner;
    std::vector<std::int64_t> ids = even_ids(first, 6);
    ids[3] = -1;
    GroupedOptions up_options = {.type = nf4::OutputType::kFloat32, .has_bias = true};
    const GroupedCase up(first, up_options, ids);
    GroupedOptions down_options = up_options;
    down_options.has_weights = true;
    down_options.group.slots_have_rows = true;
    down_options.group.sums_slots = true;
    GroupedCase down(second, down_options, ids);
    GroupedCall up_call(up);
    ASSERT_EQ(up_call.run(), NF4_OK);
    const std::vector<double> sums = nf4::to_doubles(nf4::OutputType::kFloat32, up_call.output());
    std::vector<double> inner(static_cast<std::size_t>(14 * kInner));
    for (std::size_t i = 0; i < inner.size(); ++i) {
      const std::size_t row = i / 24;
      const std::size_t column = i % 24;
      const std::size_t gate =
          is_gated ? row * 48 + (options.interleaved != 0 ? 2 * column : column) : i;
      const double other = is_gated ? sums[gate + (options.interleaved != 0 ? 1 : 24)] : 1.0;
      inner[i] = activated(options, sums[gate], other);
    }
    down.input = nf4::to_values(nf4::OutputType::kFloat32, inner);
    GroupedCall layer(down);
    layer.product.input = up_call.product.input;
    layer.product.tokens = 7;
    const nf4_device device = cpu_device();
    std::size_t bytes = 0;
    ASSERT_EQ(nf4_experts_workspace(&device, &up_call.stack, &layer.stack, &layer.routing, &options,
                                    &layer.product, &bytes),
              NF4_OK);
    const HostBuffer workspace(bytes, 0);
    layer.product.workspace = workspace.data();
    layer.product.workspace_bytes = bytes;
    ASSERT_EQ(nf4_experts(&device, &up_call.stack, &layer.stack, &layer.routing, &options,
                          &layer.product, nullptr),
              NF4_OK);
    EXPECT_EQ(down.judge(layer.output()), "") << activation;
    options.activation = 4;
    EXPECT_EQ(nf4_experts(&device, &up_call.stack, &layer.stack, &layer.routing, &options,
                          &layer.product, nullptr),
              NF4_INVALID_ARGUMENT);
    options.activation = activation;
    layer.routing.sums_slots = 0;
    EXPECT_EQ(nf4_experts(&device, &up_call.stack, &layer.stack, &layer.routing, &options,
                          &layer.product, nullptr),
              NF4_INVALID_ARGUMENT);
  }
}

TEST(Libnf4Grouped, SaysWhatIsWrongWithAnArgument) {
  const GroupedSizes sizes = {.experts = 2, .top_k = 1, .tokens = 3};
  const GroupedCase product(sizes, {}, {0, 1, 1});
  struct Case {
    const char* what;
    nf4_status status;
    std::function<void(GroupedCall&)> change;
  };
  const Case cases[] = {
      {"no weight", NF4_INVALID_ARGUMENT, [](GroupedCall& c) { c.stack.weight = nullptr; }},
      {"no experts", NF4_INVALID_ARGUMENT, [](GroupedCall& c) { c.stack.experts = 0; }},
      {"rows that no expert has", NF4_INVALID_ARGUMENT,
       [](GroupedCall& c) { c.stack.experts = 5; }},
      {"a flag of two", NF4_INVALID_ARGUMENT, [](GroupedCall& c) { c.stack.transposed = 2; }},
      {"ids of two bytes", NF4_INVALID_ARGUMENT, [](GroupedCall& c) { c.routing.id_bytes = 2; }},
      {"a kind", NF4_INVALID_ARGUMENT, [](GroupedCall& c) { c.routing.kind = 2; }},
      {"ends of slots", NF4_INVALID_ARGUMENT,
       [](GroupedCall& c) {
         c.routing.kind = NF4_ENDS;
         c.routing.top_k = 2;
       }},
      {"no ids", NF4_INVALID_ARGUMENT, [](GroupedCall& c) { c.routing.ids = nullptr; }},
      {"no tokens", NF4_INVALID_ARGUMENT, [](GroupedCall& c) { c.routing.tokens = 0; }},
      {"other rows", NF4_INVALID_ARGUMENT, [](GroupedCall& c) { c.product.tokens = 2; }},
      {"rows of the output apart", NF4_UNSUPPORTED,
       [](GroupedCall& c) { c.product.output_stride = 1 << 10; }},
      {"two biases", NF4_INVALID_ARGUMENT,
       [](GroupedCall& c) { c.product.bias = c.product.input; }},
      {"a bias that is not aligned", NF4_MISALIGNED,
       [](GroupedCall& c) { c.stack.bias = static_cast<const char*>(c.product.input) + 2; }},
      {"what is reserved", NF4_INVALID_ARGUMENT, [](GroupedCall& c) { c.routing.reserved = 1; }},
      {"a struct of no size", NF4_INVALID_ARGUMENT,
       [](GroupedCall& c) { c.routing.struct_bytes = 0; }},
  };
  for (const Case& each : cases) {
    GroupedCall call(product);
    each.change(call);
    EXPECT_EQ(call.run(), each.status) << each.what;
  }
}

}  // namespace
}  // namespace nf4bench::test
