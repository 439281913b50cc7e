// Every CUDA variant of products with stacks of experts.

#include "activation.hpp"
#include "catalog.hpp"
#include "device/devices.hpp"
#include "kernels/grouped_case.hpp"
#include "layer.hpp"
#include "operation/product_run.hpp"
#include "own.hpp"
#include "record/fields.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>

namespace nf4bench::test {
namespace {

void check(cudaError_t error) {
  ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

// Device memory that ends with its last byte, but for what an allocation is rounded up to.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&memory_, bytes + 256));
    fill(0xeb);
  }
  DeviceBuffer(const void* from, std::size_t bytes) : DeviceBuffer(bytes) {
    if (bytes > 0) check(cudaMemcpy(memory_, from, bytes, cudaMemcpyHostToDevice));
    check(cudaStreamSynchronize(nullptr));
  }
  template <class T>
  explicit DeviceBuffer(const std::vector<T>& from)
      : DeviceBuffer(from.data(), from.size() * sizeof(T)) {}
  ~DeviceBuffer() { cudaFree(memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // There on return: streams do not wait for it.
  void fill(int byte) {
    check(cudaMemset(memory_, byte, bytes_ + 256));
    check(cudaStreamSynchronize(nullptr));
  }
  template <class T>
  T* as() const {
    return bytes_ == 0 ? nullptr : static_cast<T*>(memory_);
  }
  std::vector<std::byte> read() const {
    std::vector<std::byte> all(bytes_ + 256);
    check(cudaMemcpy(all.data(), memory_, all.size(), cudaMemcpyDeviceToHost));
    for (std::size_t i = bytes_; i < all.size(); ++i) EXPECT_EQ(all[i], std::byte{0xeb});
    all.resize(bytes_);
    return all;
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_;
};

// The first device, or with NF4BENCH_COMPUTE_CAPABILITY one of that.
kernels::DeviceFacts device_facts() {
  cudaDeviceProp properties = {};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return {};
  const char* const assumed = std::getenv("NF4BENCH_COMPUTE_CAPABILITY");
  return {.compute_capability =
              assumed != nullptr ? std::atoi(assumed) : 10 * properties.major + properties.minor,
          .multiprocessors = properties.multiProcessorCount,
          .l2_bytes = properties.l2CacheSize};
}

// A product in device memory.
class DeviceCase {
 public:
  explicit DeviceCase(const GroupedCase& product)
      : packed_(product.weight().packed),
        absmax_(product.weight().absmax),
        codes_(product.weight().absmax_codes),
        nested_absmax_(product.weight().nested_absmax),
        nested_map_(product.weight().nested_map),
        offsets_(product.offsets),
        input_(product.input),
        bias_(product.bias),
        weights_(product.weights),
        ids_(product.ids),
        output_(product.output_bytes()),
        job_(product.job()) {
    job_.packed = packed_.as<std::uint8_t>();
    job_.absmax = absmax_.as<float>();
    job_.absmax_codes = codes_.as<std::uint8_t>();
    job_.nested_absmax = nested_absmax_.as<float>();
    job_.nested_map = nested_map_.as<float>();
    job_.nested_offset = offsets_.as<float>();
    job_.input = input_.as<void>();
    job_.bias = bias_.as<void>();
    job_.slot_weights = weights_.as<void>();
    job_.ids = ids_.as<void>();
    job_.output = output_.as<void>();
  }

  std::vector<std::byte> output_of(const kernels::Variant& variant) {
    const kernels::Launch launch = {.device = device_facts()};
    DeviceBuffer workspace(static_cast<std::size_t>(workspace_of(variant, job_, launch)));
    job_.workspace = workspace.as<void>();
    const DeviceBuffer prepared(static_cast<std::size_t>(prepared_of(variant, job_)));
    job_.prepared = prepared.as<void>();
    if (variant.prepare) variant.prepare(job_, launch);
    output_.fill(0xeb);
    variant.launch(job_, launch);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    workspace.read();
    return output_.read();
  }

  // The ids of another routing, in the same place.
  void set_ids(const GroupedCase& product) {
    check(cudaMemcpy(ids_.as<void>(), product.ids.data(), product.ids.size(),
                     cudaMemcpyHostToDevice));
  }

  kernels::Job& job() { return job_; }
  std::vector<std::byte> output() const { return output_.read(); }
  void poison() { output_.fill(0xeb); }

 private:
  DeviceBuffer packed_, absmax_, codes_, nested_absmax_, nested_map_, offsets_;
  DeviceBuffer input_, bias_, weights_, ids_, output_;
  kernels::Job job_;
};

class CudaExperts : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return;
    if (std::getenv("NF4BENCH_REQUIRE_GPU") != nullptr) FAIL() << "no CUDA device";
    GTEST_SKIP() << "no CUDA device";
  }

  // Those that never wait for the routing, and promise more.
  static void for_each_capturable(const kernels::Problem& problem,
                                  const std::function<void(const kernels::Variant&)>& use) {
    for_each_variant(problem, [&](const kernels::Variant& variant) {
      if (variant.traits.capturable) use(variant);
    });
  }

  static void for_each_variant(const kernels::Problem& problem,
                               const std::function<void(const kernels::Variant&)>& use) {
    for (const kernels::Variant& variant : kernels::cuda::experts().variants) {
      if (why_unsupported(variant, problem, device_facts()) == nullptr) use(variant);
    }
  }

  static void expect_right(const GroupedCase& product, const std::string& what) {
    DeviceCase on_device(product);
    for_each_variant(product.problem(), [&](const kernels::Variant& variant) {
      const std::vector<std::byte> output = on_device.output_of(variant);
      EXPECT_EQ(product.judge(output), "") << variant.name << " " << what;
      EXPECT_EQ(on_device.output_of(variant), output) << variant.name << " twice, " << what;
    });
  }
};

// Few and many slots of an expert; rows and inputs that no tile divides; groups of 256 blocks that
// reach into the next expert.
TEST_F(CudaExperts, AreRightForEverySizeTypeAndLayout) {
  const GroupedSizes all_sizes[] = {
      {1, 1, 1, 64, 64},    {16, 4, 3, 130, 320}, {3, 2, 61, 200, 704}, {128, 8, 5, 72, 128},
      {8, 2, 90, 328, 192}, {2, 1, 300, 65, 576}, {512, 10, 4, 64, 64}, {4, 4, 150, 136, 256},
      {3, 1, 700, 24, 64},  {40, 4, 40, 33, 70}};
  for (const GroupedSizes& sizes : all_sizes) {
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      for (const bool is_other : {false, true}) {
        GroupedOptions options = {.type = type};
        options.absmax = is_other ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain;
        options.group.sums_slots = is_other;
        options.group.id_bytes = is_other ? 4 : 8;
        options.group.slots_have_rows = is_other;
        options.has_bias = options.has_weights = is_other;
        const std::string what = std::to_string(sizes.experts) + " experts, " +
                                 std::to_string(sizes.tokens) + " tokens, " +
                                 std::to_string(sizes.outputs) + "x" +
                                 std::to_string(sizes.inputs) + " " + to_string(type);
        expect_right(GroupedCase(sizes, options, even_ids(sizes, 7)), what);
      }
    }
  }
}

// Few and many slots of an expert, outputs of half a tile, inputs that end within a stage, blocks
// of two groups of 64 outputs.
TEST_F(CudaExperts, AreRightForMatricesThatLieTransposed) {
  const GroupedSizes all_sizes[] = {{1, 1, 1, 64, 64},    {4, 4, 150, 192, 320},
                                    {8, 2, 90, 128, 576}, {2, 1, 700, 320, 256},
                                    {40, 4, 40, 64, 128}, {3, 2, 300, 704, 192}};
  for (const GroupedSizes& sizes : all_sizes) {
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      for (const bool is_other : {false, true}) {
        GroupedOptions options = {.type = type, .transposed = true};
        options.absmax = is_other ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain;
        options.blocksize = is_other ? 64 : 128;
        options.group.sums_slots = options.group.slots_have_rows = is_other;
        options.has_bias = options.has_weights = is_other;
        const std::string what = std::to_string(sizes.tokens) + " tokens, " +
                                 std::to_string(sizes.outputs) + "x" +
                                 std::to_string(sizes.inputs) + " " + to_string(type);
        expect_right(GroupedCase(sizes, options, even_ids(sizes, 7)), what);
      }
    }
  }
}

TEST_F(CudaExperts, TakeTransposedMatricesAndOffsetsOfEachExpert) {
  const GroupedSizes sizes = {.experts = 3, .top_k = 2, .tokens = 9, .outputs = 96, .inputs = 512};
  for (const bool is_transposed : {false, true}) {
    GroupedOptions options = {.absmax = nf4::AbsmaxKind::kNested};
    options.transposed = is_transposed;
    options.group.own_offsets = true;
    expect_right(GroupedCase(sizes, options, even_ids(sizes, 1)), "own offsets");
  }
}

// All slots of one expert; all but the last empty; none that has an expert; ids that 32 bits would
// take for valid.
TEST_F(CudaExperts, TakeWhateverRoutingThereIs) {
  for (const std::int64_t tokens : {12, 160, 400}) {
    const GroupedSizes sizes = {
        .experts = 16, .top_k = 4, .tokens = tokens, .outputs = 72, .inputs = 128};
    std::vector<std::int64_t> ids(static_cast<std::size_t>(tokens * 4), 5);
    expect_right(GroupedCase(sizes, {}, ids), "one expert");
    std::fill(ids.begin(), ids.end(), 15);
    expect_right(GroupedCase(sizes, {}, ids), "the last expert");
    std::fill(ids.begin(), ids.end(), -1);
    expect_right(GroupedCase(sizes, {}, ids), "no expert");
    ids = even_ids(sizes, 4);
    const std::int64_t none[] = {-1, 16, 2147483647, (std::int64_t{1} << 32) + 1};
    for (std::size_t i = 0; i < ids.size(); i += 3) ids[i] = none[i / 3 % 4];
    GroupedOptions options = {.has_weights = true};
    GroupedCase product(sizes, options, ids);
    const std::vector<std::byte> nan =
        nf4::to_values(options.type, std::vector<double>{std::numeric_limits<double>::quiet_NaN()});
    for (std::size_t i = 0; i < ids.size(); i += 3) {
      std::copy(nan.begin(), nan.end(),
                product.weights.begin() + static_cast<std::ptrdiff_t>(2 * i));
    }
    expect_right(product, "slots without an expert");
  }
}

TEST_F(CudaExperts, TakeEndsOfSortedRows) {
  for (const std::int64_t tokens : {30, 1500}) {
    const GroupedSizes sizes = {
        .experts = 5, .top_k = 1, .tokens = tokens, .outputs = 40, .inputs = 64};
    GroupedOptions options;
    options.group.ends = true;
    options.group.id_bytes = 4;
    const std::vector<std::vector<std::int64_t>> all_ends = {{2, 2, 7, 9, 12},
                                                             {0, 0, 0, 0, tokens},
                                                             {3, 1, 8, 6, 10},
                                                             {-5, 4, 9000, 3, 2},
                                                             {0, 0, 0, 0, 0}};
    for (const std::vector<std::int64_t>& ends : all_ends) {
      expect_right(GroupedCase(sizes, options, ends), "ends");
    }
  }
}

// What is not a number stays where it belongs: of an expert that nobody chose, of a row.
TEST_F(CudaExperts, KeepWhatIsNotFiniteWhereItBelongs) {
  for (const std::int64_t tokens : {20, 700}) {
    const GroupedSizes sizes = {
        .experts = 6, .top_k = 2, .tokens = tokens, .outputs = 72, .inputs = 320};
    std::vector<std::int64_t> ids = even_ids(sizes, 3);
    for (std::int64_t& id : ids) id = id == 1 ? 4 : id;
    GroupedCase product(sizes, {}, ids);
    const std::size_t blocks = 72 * 320 / 64;
    for (std::size_t i = 0; i < blocks; ++i) {
      product.weight().absmax[blocks + i] = std::numeric_limits<float>::quiet_NaN();
    }
    for (std::size_t i = 0; i < 320 * 2; ++i) {
      product.input[3 * 320 * 2 + i] = i % 2 == 0 ? std::byte{0xff} : std::byte{0x7f};
    }
    expect_right(product, "NaN");
  }
}

// A row's bits are the same whichever rows stand beside it, and wherever.
TEST_F(CudaExperts, DoNotLetRowsDependOnOthers) {
  for (const std::int64_t tokens : {16, 60, 200, 900}) {
    const GroupedSizes sizes = {
        .experts = 8, .top_k = 2, .tokens = tokens, .outputs = 136, .inputs = 448};
    const std::vector<std::int64_t> ids = even_ids(sizes, 2);
    GroupedCase product(sizes, {}, ids);
    DeviceCase on_device(product);
    for_each_capturable(product.problem(), [&](const kernels::Variant& variant) {
      const std::vector<std::byte> before = on_device.output_of(variant);
      std::vector<std::int64_t> moved = ids;
      const std::size_t kept = moved.size() / 4;
      for (std::size_t i = kept; i < moved.size(); ++i) moved[i] = i % 3 == 0 ? -1 : 3;
      product.set_ids(moved);
      on_device.set_ids(product);
      const std::vector<std::byte> after = on_device.output_of(variant);
      const auto own = static_cast<std::ptrdiff_t>(kept * 136 * 2);
      EXPECT_TRUE(std::equal(before.begin(), before.begin() + own, after.begin())) << variant.name;
      EXPECT_NE(before, after) << variant.name;
      product.set_ids(ids);
      on_device.set_ids(product);
    });
  }
}

// Nor on their order, nor on what else the GPU does: the same product of other tokens, in turns.
TEST_F(CudaExperts, GiveTokensTheirBitsInAnyOrderAndCompany) {
  for (const std::int64_t tokens : {6, 61, 200, 1000}) {
    const GroupedSizes sizes = {
        .experts = 8, .top_k = 3, .tokens = tokens, .outputs = 136, .inputs = 448};
    const std::vector<std::int64_t> order = shuffled(tokens);
    for (const bool sums : {false, true}) {
      GroupedOptions options = {.has_weights = true};
      options.group.sums_slots = options.group.slots_have_rows = sums;
      GroupedCase product(sizes, options, even_ids(sizes, 2));
      DeviceCase on_device(product);
      product.reorder(order);
      DeviceCase reordered(product);
      for_each_capturable(product.problem(), [&](const kernels::Variant& variant) {
        if (variant.prepare) return;
        const std::vector<std::byte> before = on_device.output_of(variant);
        EXPECT_EQ(reordered.output_of(variant), in_order(before, order))
            << variant.name << " " << tokens << " " << sums;
        kernels::Launch elsewhere = {.device = device_facts()};
        check(cudaStreamCreateWithFlags(&elsewhere.stream, cudaStreamNonBlocking));
        const DeviceBuffer workspace(
            static_cast<std::size_t>(workspace_of(variant, product.problem(), elsewhere)));
        reordered.job().workspace = workspace.as<void>();
        for (int i = 0; i < 100; ++i) variant.launch(reordered.job(), elsewhere);
        EXPECT_EQ(on_device.output_of(variant), before)
            << variant.name << " " << tokens << " " << sums << " in company";
        cudaStreamDestroy(elsewhere.stream);
      });
    }
  }
}

// 511 experts of zeros, and behind their more than 2^31 weights one that is known.
TEST_F(CudaExperts, CountBeyondTwoToThe31) {
  constexpr std::int64_t kBefore = 511;
  for (const std::int64_t tokens : {1, 30, 130}) {
    const GroupedSizes sizes = {
        .experts = 1, .top_k = 2, .tokens = tokens, .outputs = 576, .inputs = 8192};
    std::vector<std::int64_t> known;
    std::vector<std::int64_t> chosen;
    for (std::int64_t slot = 0; slot < 2 * tokens; ++slot) {
      known.push_back(slot % 2 == 0 ? 0 : -1);
      chosen.push_back(slot % 2 == 0 ? kBefore : slot % kBefore);
    }
    GroupedCase product(sizes, {}, known);
    const nf4::Nf4Tensor& weight = product.weight();
    const DeviceBuffer packed((kBefore + 1) * weight.packed.size());
    const DeviceBuffer absmax((kBefore + 1) * weight.absmax.size() * sizeof(float));
    check(cudaMemset(absmax.as<void>(), 0, kBefore * weight.absmax.size() * sizeof(float)));
    check(cudaMemcpy(packed.as<std::uint8_t>() + kBefore * weight.packed.size(),
                     weight.packed.data(), weight.packed.size(), cudaMemcpyHostToDevice));
    check(cudaMemcpy(absmax.as<float>() + kBefore * weight.absmax.size(), weight.absmax.data(),
                     weight.absmax.size() * sizeof(float), cudaMemcpyHostToDevice));
    DeviceCase on_device(product);
    kernels::Job& job = on_device.job();
    job.packed = packed.as<std::uint8_t>();
    job.absmax = absmax.as<float>();
    job.elements *= kBefore + 1;
    job.blocks *= kBefore + 1;
    job.group.experts = kBefore + 1;
    product.set_ids(chosen);
    on_device.set_ids(product);
    product.set_ids(known);
    for_each_variant(job, [&](const kernels::Variant& variant) {
      EXPECT_EQ(product.judge(on_device.output_of(variant)), "") << variant.name << " " << tokens;
    });
  }
}

// Rows of a multiple of eight, and others.
void expect_activated(kernels::Activation activation) {
  const nf4::OutputType type = activation.type;
  const std::int64_t count = activation.rows * activation.columns;
  std::vector<double> values(static_cast<std::size_t>(count) * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<double>(i * 37 % 101) - 50.0) / 12.0;
  }
  const std::vector<std::byte> given = nf4::to_values(type, values);
  values = nf4::to_doubles(type, given);
  const DeviceBuffer input(given);
  const DeviceBuffer output(static_cast<std::size_t>(count) * nf4::size_in_bytes(type));
  activation.input = input.as<void>();
  activation.output = output.as<void>();
  kernels::cuda::own_kernels().activate(activation, {.device = device_facts()});
  check(cudaDeviceSynchronize());
  const std::vector<double> found = nf4::to_doubles(type, output.read());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int64_t at = gate_at(activation, static_cast<std::int64_t>(i));
    const float gate = static_cast<float>(values[static_cast<std::size_t>(at)]);
    const auto up_at = static_cast<std::size_t>(at + up_step(activation));
    const float up = activation.gated ? static_cast<float>(values[up_at]) : 1.0f;
    const double wanted = activate(activation, gate, up);
    EXPECT_NEAR(found[i], wanted,
                std::fabs(wanted) * (1.01 * nf4::unit_roundoff(type) + 0x1p-20) + 0x1p-24);
  }
}

TEST_F(CudaExperts, ActivateAsTheHostDoes) {
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    for (const auto kind : {kernels::ActivationKind::kSilu, kernels::ActivationKind::kGeluTanh,
                            kernels::ActivationKind::kGptOss, kernels::ActivationKind::kRelu2}) {
      for (const std::int64_t columns : {77, 88}) {
        kernels::Activation activation = {
            .kind = kind, .type = type, .rows = 37, .columns = columns};
        activation.gated = kind != kernels::ActivationKind::kRelu2;
        activation.limit = kind == kernels::ActivationKind::kGptOss ? 2.0f : 0.0f;
        expect_activated(activation);
        activation.interleaved = activation.gated;
        expect_activated(activation);
      }
    }
  }
}

// What a kernel activates itself is what it gives without, activated by the host, but for
// roundings.
int expect_activated_within(const GroupedSizes& sizes, GroupedOptions options,
                            const kernels::Activation& of) {
  int found = 0;
  std::vector<std::int64_t> ids = even_ids(sizes, 7);
  if (ids.size() > 1) ids[1] = -1;
  const GroupedCase product(sizes, options, ids);
  DeviceCase on_device(product);
  for (const kernels::Variant& variant : kernels::cuda::experts().variants) {
    if (!activates(variant, product.problem(), of, device_facts())) continue;
    ++found;
    static_cast<kernels::Grouping&>(on_device.job().group) = product.problem().group;
    const auto apart = nf4::to_doubles(options.type, on_device.output_of(variant));
    add_activation(on_device.job(), of);
    on_device.job().activation = &of;
    const std::vector<std::byte> bytes = on_device.output_of(variant);
    for (std::size_t i = bytes.size() / 2; i < bytes.size(); ++i) {
      EXPECT_EQ(bytes[i], std::byte{0xeb}) << variant.name << " beyond its output";
      if (bytes[i] != std::byte{0xeb}) break;
    }
    const auto within = nf4::to_doubles(options.type, bytes);
    for (std::size_t i = 0; i < within.size() / 2; ++i) {
      const auto at = static_cast<std::size_t>(gate_at(of, static_cast<std::int64_t>(i)));
      const auto gate = static_cast<float>(apart[at]);
      const auto up = static_cast<float>(apart[at + static_cast<std::size_t>(up_step(of))]);
      const double scale =
          (std::fabs(up) + (of.interleaved ? 1.0 : 0.0)) * (std::fabs(gate) + 0x1p-20);
      const double wanted = activate(of, gate, up);
      const double most = 4.0 * nf4::unit_roundoff(options.type) * scale +
                          nf4::smallest_step(options.type) * (1.0 + std::fabs(up));
      const bool is_near = std::fabs(within[i] - wanted) <= most;
      EXPECT_TRUE(is_near) << variant.name << ' ' << i << ": " << within[i] << ", not " << wanted;
      if (!is_near) break;
    }
  }
  return found;
}

// Columns that no tile divides, few and many slots of an expert, one that has none, biases.
TEST_F(CudaExperts, ActivateWithinAProductAsBehindIt) {
  int found = 0;
  for (const GroupedSizes& sizes :
       {GroupedSizes{16, 4, 1, 200, 512}, GroupedSizes{128, 8, 2, 352, 768},
        GroupedSizes{8, 2, 1, 48, 256}, GroupedSizes{4, 2, 1, 10, 1024},
        GroupedSizes{8, 2, 90, 328, 192}, GroupedSizes{2, 1, 700, 200, 320},
        GroupedSizes{4, 4, 150, 136, 256}, GroupedSizes{128, 8, 5, 72, 128},
        GroupedSizes{8, 2, 300, 392, 640}, GroupedSizes{3, 1, 1000, 520, 64}}) {
    for (const auto kind : {kernels::ActivationKind::kSilu, kernels::ActivationKind::kGeluTanh,
                            kernels::ActivationKind::kGptOss}) {
      for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
        GroupedOptions options = {.type = type, .has_bias = true};
        const bool is_nested = kind == kernels::ActivationKind::kSilu;
        options.absmax = is_nested ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain;
        kernels::Activation of = {.kind = kind, .columns = sizes.outputs / 2};
        of.interleaved = kind == kernels::ActivationKind::kGptOss;
        found += expect_activated_within(sizes, options, of);
      }
    }
  }
  EXPECT_GT(found, 0);
}

TEST_F(CudaExperts, ActivateColumnsWithinAProductAsBehindIt) {
  int found = 0;
  for (const GroupedSizes& sizes :
       {GroupedSizes{4, 4, 1, 192, 320}, GroupedSizes{32, 4, 4, 128, 576},
        GroupedSizes{8, 2, 8, 320, 256}, GroupedSizes{2, 1, 700, 320, 256},
        GroupedSizes{4, 4, 150, 192, 320}, GroupedSizes{40, 4, 40, 64, 128}}) {
    for (const bool in_turns : {false, true}) {
      GroupedOptions options = {
          .type = nf4::OutputType::kBfloat16, .transposed = true, .has_bias = true};
      kernels::Activation of = {.columns = sizes.outputs / 2};
      of.kind = in_turns ? kernels::ActivationKind::kGptOss : kernels::ActivationKind::kSilu;
      of.interleaved = in_turns;
      found += expect_activated_within(sizes, options, of);
    }
  }
  EXPECT_GT(found, 0);
}

// As the program runs them, whole layers as well.
TEST_F(CudaExperts, PassARun) {
  const auto device = device::open_device("cuda:0", {.config = "", .caches_rotated = 1});
  for (const record::StackPart part : kWords<record::StackPart>) {
    for (const record::Activation activation : kWords<record::Activation>) {
      const bool is_layer = part == record::StackPart::kLayer;
      if (!is_layer && activation != record::Activation::kSilu) continue;
      ProductSizes sizes = {.tokens = 40, .outputs = 512, .inputs = 256, .experts = 8};
      sizes.type = nf4::OutputType::kBfloat16;
      if (is_layer) sizes.outputs = activation == record::Activation::kRelu2 ? 512 : 768;
      sizes.stack = {.part = part, .top_k = 3};
      if (is_layer) sizes.stack.activation = activation;
      const auto rows = run_products(*device, kernels::cuda::experts(), sizes);
      EXPECT_EQ(rows.at("fused").status, record::Status::kPassed) << rows.at("fused").reason;
      for (const auto& [name, row] : rows) {
        EXPECT_NE(row.status, record::Status::kFailed)
            << name << " " << to_string(part) << ": " << row.reason;
      }
    }
  }
}

// One graph serves all routings: it reads the ids when it is replayed.
TEST_F(CudaExperts, ReadTheRoutingWhenAGraphIsReplayed) {
  for (const std::int64_t tokens : {8, 400}) {
    const GroupedSizes sizes = {
        .experts = 16, .top_k = 4, .tokens = tokens, .outputs = 64, .inputs = 128};
    GroupedCase product(sizes, {}, even_ids(sizes, 1));
    DeviceCase on_device(product);
    for_each_capturable(product.problem(), [&](const kernels::Variant& variant) {
      kernels::Launch launch = {.device = device_facts()};
      DeviceBuffer workspace(
          static_cast<std::size_t>(workspace_of(variant, product.problem(), launch)));
      on_device.job().workspace = workspace.as<void>();
      cudaStream_t stream = nullptr;
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      launch.stream = stream;
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t replay = nullptr;
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      variant.launch(on_device.job(), launch);
      check(cudaStreamEndCapture(stream, &graph));
      check(cudaGraphInstantiate(&replay, graph, 0));
      for (unsigned seed = 2; seed < 5; ++seed) {
        product.set_ids(even_ids(sizes, seed));
        on_device.set_ids(product);
        on_device.poison();
        check(cudaDeviceSynchronize());
        check(cudaGraphLaunch(replay, stream));
        check(cudaStreamSynchronize(stream));
        EXPECT_EQ(product.judge(on_device.output()), "") << variant.name;
      }
      cudaGraphExecDestroy(replay);
      cudaGraphDestroy(graph);
      cudaStreamDestroy(stream);
    });
  }
}

}  // namespace
}  // namespace nf4bench::test
