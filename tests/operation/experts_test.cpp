// Products with stacks of experts, run as the program runs them: which kernels pass, and that those
// which take a short cut do not.

#include "operation/experts.hpp"

#include "activation.hpp"
#include "device/devices.hpp"
#include "layer.hpp"
#include "nf4/values.hpp"
#include "operation/product_run.hpp"
#include "record/fields.hpp"
#include "routing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using kernels::Job;
using kernels::Launch;
using record::StackPart;

ProductSizes sizes_of(StackPart part, std::int64_t tokens = 6) {
  return {.tokens = tokens,
          .outputs = 24,
          .inputs = 128,
          .type = nf4::OutputType::kBfloat16,
          .experts = 8,
          .stack = {.part = part, .top_k = 3}};
}

// Of [experts, 64 columns, 128] and back.
ProductSizes layer_of(record::Activation activation, std::int64_t tokens = 6) {
  ProductSizes sizes = sizes_of(StackPart::kLayer, tokens);
  sizes.outputs = activation == record::Activation::kRelu2 ? 128 : 192;
  sizes.stack.activation = activation;
  return sizes;
}

const kernels::Variant& honest() {
  static const kernels::Variant variant = kernels::cpu::experts().variants.front();
  return variant;
}

// The row of a kernel that does this, with the honest one to compare with.
record::Measurement row_of(const std::function<void(const Job& job, const Launch& launch)>& launch,
                           const ProductSizes& sizes) {
  kernels::Variant deceitful = honest();
  deceitful.name = "deceitful";
  deceitful.launch = launch;
  const kernels::Catalog catalog = {.variants = {honest(), deceitful},
                                    .stream_shapes = {},
                                    .flagship = "reference",
                                    .default_baseline = "reference"};
  const auto device = device::open_device("cpu", {.config = "", .threads = 2, .caches_rotated = 1});
  const auto rows = run_products(*device, catalog, sizes);
  EXPECT_EQ(rows.at("reference").status, record::Status::kPassed) << rows.at("reference").reason;
  return rows.at("deceitful");
}

void expect_caught(const std::function<void(const Job& job, const Launch& launch)>& launch,
                   const ProductSizes& sizes) {
  const record::Measurement row = row_of(launch, sizes);
  EXPECT_EQ(row.status, record::Status::kFailed) << row.reason;
  EXPECT_NE(row.reason, "");
  EXPECT_FALSE(row.time_s);
}

std::vector<std::int64_t> ids_of(const Job& job) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(slots_of(job)));
  std::memcpy(ids.data(), job.ids, ids.size() * sizeof(std::int64_t));
  return ids;
}

std::vector<float> weights_of(const Job& job) {
  std::vector<float> weights(static_cast<std::size_t>(slots_of(job)));
  std::memcpy(weights.data(), job.slot_weights, weights.size() * sizeof(float));
  return weights;
}

void launch_with(Job job, const Launch& launch, const std::vector<std::int64_t>& ids,
                 const std::vector<float>* weights = nullptr) {
  job.ids = ids.data();
  if (weights != nullptr) job.slot_weights = weights->data();
  honest().launch(job, launch);
}

// The rows of all built-in variants.
auto rows_of(const ProductSizes& sizes) {
  const auto device = device::open_device("cpu", {.config = "", .threads = 2, .caches_rotated = 1});
  return run_products(*device, kernels::cpu::experts(), sizes);
}

TEST(Experts, PassForEveryVariantPartAndNumberOfTokens) {
  for (const StackPart part : {StackPart::kGateUp, StackPart::kDown}) {
    for (const std::int64_t tokens : {1, 6, 40}) {
      const auto rows = rows_of(sizes_of(part, tokens));
      EXPECT_EQ(rows.size(), kernels::cpu::experts().variants.size());
      for (const auto& [name, row] : rows) {
        if (name == "loop") continue;  // not where groups of scales straddle experts
        EXPECT_EQ(row.status, record::Status::kPassed) << name << ": " << row.reason;
        ASSERT_TRUE(row.experts) << name;
        EXPECT_GE(row.experts->hit, 3.0);
        EXPECT_LE(row.experts->hit, 8.0);
        EXPECT_EQ(row.flops, 2.0 * static_cast<double>(tokens * 3 * 24 * 128));
      }
      EXPECT_EQ(rows.at("loop").status, record::Status::kSkipped) << rows.at("loop").reason;
    }
  }
}

TEST(Experts, PassForALoopWhoseMatricesBeginWithAGroup) {
  ProductSizes sizes = sizes_of(StackPart::kDown);
  sizes.outputs = 128;
  const auto rows = rows_of(sizes);
  EXPECT_EQ(rows.at("loop").status, record::Status::kPassed) << rows.at("loop").reason;
}

TEST(Experts, PassForEveryVariantAndActivationOfALayer) {
  for (const record::Activation activation : kWords<record::Activation>) {
    for (const std::int64_t tokens : {1, 7, 40}) {
      const ProductSizes sizes = layer_of(activation, tokens);
      const auto rows = rows_of(sizes);
      EXPECT_EQ(rows.size(), kernels::cpu::experts().variants.size());
      for (const auto& [name, row] : rows) {
        if (name == "loop") continue;  // not where groups of scales straddle experts
        EXPECT_EQ(row.status, record::Status::kPassed)
            << name << " " << to_string(activation) << ": " << row.reason;
        EXPECT_EQ(row.flops, 2.0 * static_cast<double>(tokens * 3 * sizes.outputs * 128));
        EXPECT_EQ(row.bytes_written, tokens * 128 * 2);
      }
    }
  }
}

TEST(Experts, PassForALayerInFloat16AndOfALoop) {
  ProductSizes sizes = layer_of(record::Activation::kSilu);
  sizes.type = nf4::OutputType::kFloat16;
  sizes.inputs = 256;
  for (const auto& [name, row] : rows_of(sizes)) {
    EXPECT_EQ(row.status, record::Status::kPassed) << name << ": " << row.reason;
  }
}

TEST(Experts, CountTheBytesOfWhatIsHit) {
  const auto few = rows_of(sizes_of(StackPart::kGateUp, 1));
  const record::Measurement& row = few.at("grouped");
  const std::int64_t weight = 8 * 24 * 128 / 2 + 8 * 24 * 2 + 2 * 4 + 256 * 4;
  EXPECT_EQ(row.bytes_read, weight * 3 / 8 + 128 * 2 + 3 * 8);
  EXPECT_EQ(row.bytes_written, 3 * 24 * 2);
  const std::int64_t resident = few.at("grouped_resident").bytes_read;
  EXPECT_GT(resident, 3 * 24 * 128 * 2);
  EXPECT_LT(resident, 4 * 24 * 128 * 2);
}

// ---- Kernels that take a short cut ----

void drop_small(const Job& job, const Launch& launch) {
  std::vector<std::int64_t> ids = ids_of(job);
  const std::vector<float> weights = weights_of(job);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (weights[i] < 0.01f) ids[i] = -1;
  }
  launch_with(job, launch, ids);
}

TEST(DeceitfulExperts, AreCaughtWhenTheyDropSlotsOfSmallWeight) {
  expect_caught(drop_small, sizes_of(StackPart::kDown));
}

TEST(DeceitfulExperts, AreCaughtWhenTheyDropSlotsOverACapacity) {
  expect_caught(
      [](const Job& job, const Launch& launch) {
        std::vector<std::int64_t> ids = ids_of(job);
        std::vector<int> rows(static_cast<std::size_t>(job.group.experts));
        for (std::int64_t& id : ids) {
          const bool is_one = id >= 0 && id < job.group.experts;
          if (is_one && ++rows[static_cast<std::size_t>(id)] > 4) id = -1;
        }
        launch_with(job, launch, ids);
      },
      sizes_of(StackPart::kGateUp, 20));
}

TEST(DeceitfulExperts, AreCaughtWhenTheyTakeAWrongExpertForASmallWeight) {
  expect_caught(
      [](const Job& job, const Launch& launch) {
        std::vector<std::int64_t> ids = ids_of(job);
        const std::vector<float> weights = weights_of(job);
        for (std::size_t i = 0; i < ids.size(); ++i) {
          if (weights[i] < 0.001f && weights[i] > 0.0f) ids[i] = (ids[i] + 1) % job.group.experts;
        }
        launch_with(job, launch, ids);
      },
      sizes_of(StackPart::kDown));
}

TEST(DeceitfulExperts, AreCaughtWithTheRoutingOfThePreviousCall) {
  const auto last = std::make_shared<std::vector<std::int64_t>>();
  expect_caught(
      [last](const Job& job, const Launch& launch) {
        const std::vector<std::int64_t> ids = ids_of(job);
        if (last->size() != ids.size()) *last = ids;
        launch_with(job, launch, *last);
        *last = ids;
      },
      sizes_of(StackPart::kGateUp));
}

// Right in every probe and the first call of all: what differs is the routing in a rotation.
TEST(DeceitfulExperts, AreCaughtWithARoutingThatIsKeptByItsAddress) {
  const auto kept = std::make_shared<std::map<const void*, std::vector<std::int64_t>>>();
  const auto calls = std::make_shared<int>(0);
  expect_caught(
      [kept, calls](const Job& job, const Launch& launch) {
        constexpr int kProbes = 8;  // more than there are
        if (++*calls < kProbes) return honest().launch(job, launch);
        const auto known = kept->emplace(job.ids, ids_of(job)).first;
        launch_with(job, launch, known->second);
      },
      sizes_of(StackPart::kGateUp));
}

TEST(DeceitfulExperts, AreCaughtWhenTheyKeepDecodedWeights) {
  const auto kept = std::make_shared<std::map<const void*, std::vector<std::uint8_t>>>();
  expect_caught(
      [kept](const Job& job, const Launch& launch) {
        const auto bytes = static_cast<std::size_t>(job.elements / 2);
        const auto known =
            kept->emplace(job.packed, std::vector(job.packed, job.packed + bytes)).first;
        Job stale = job;
        stale.packed = known->second.data();
        honest().launch(stale, launch);
      },
      sizes_of(StackPart::kGateUp));
}

TEST(DeceitfulExperts, AreCaughtWhenTheyAssumeEqualWeights) {
  expect_caught(
      [](const Job& job, const Launch& launch) {
        std::vector<float> weights = weights_of(job);
        for (std::size_t token = 0; token < weights.size(); token += 3) {
          const float mean = (weights[token] + weights[token + 1] + weights[token + 2]) / 3.0f;
          std::fill_n(weights.begin() + static_cast<std::ptrdiff_t>(token), 3, mean);
        }
        launch_with(job, launch, ids_of(job), &weights);
      },
      sizes_of(StackPart::kDown));
}

TEST(DeceitfulExperts, AreCaughtWhenTheyNormaliseWeights) {
  expect_caught(
      [](const Job& job, const Launch& launch) {
        std::vector<float> weights = weights_of(job);
        for (std::size_t token = 0; token < weights.size(); token += 3) {
          const float sum = weights[token] + weights[token + 1] + weights[token + 2];
          for (std::size_t i = token; i < token + 3; ++i) weights[i] /= sum;
        }
        launch_with(job, launch, ids_of(job), &weights);
      },
      sizes_of(StackPart::kDown));
}

// Each slot alone, and what these come to added up in bfloat16.
TEST(DeceitfulExperts, AreCaughtWhenTheyAddSlotsUpIn16Bits) {
  const auto add_up = [](const Job& job, const Launch& launch) {
    std::vector<float> sums(static_cast<std::size_t>(job.tokens * job.outputs));
    const auto round = [](float value) {
      const std::vector<std::byte> bits =
          nf4::to_values(nf4::OutputType::kBfloat16, {{double{value}}});
      return static_cast<float>(nf4::value_at(nf4::OutputType::kBfloat16, bits, 0));
    };
    const std::vector<std::int64_t> all = ids_of(job);
    std::vector<std::byte> part(sums.size() * 2);
    Job one = job;
    one.output = part.data();
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<std::int64_t> ids(all.size(), -1);
      for (std::size_t i = k; i < ids.size(); i += 3) ids[i] = all[i];
      launch_with(one, launch, ids);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const double value =
            nf4::value_at(nf4::OutputType::kBfloat16, part, static_cast<std::int64_t>(i));
        sums[i] = round(sums[i] + static_cast<float>(value));
      }
    }
    const std::vector<double> wide(sums.begin(), sums.end());
    const std::vector<std::byte> bits = nf4::to_values(nf4::OutputType::kBfloat16, wide);
    std::memcpy(job.output, bits.data(), bits.size());
  };
  expect_caught(add_up, sizes_of(StackPart::kDown));
  expect_caught(add_up, layer_of(record::Activation::kSilu));
}

TEST(DeceitfulExperts, AreCaughtWhenTheyWriteRowsOfOthers) {
  expect_caught(
      [](const Job& job, const Launch& launch) {
        honest().launch(job, launch);
        auto* const rows = static_cast<std::byte*>(job.output);
        const std::size_t row = static_cast<std::size_t>(job.outputs) * 2;
        std::memcpy(rows + row, rows, row);
      },
      sizes_of(StackPart::kGateUp));
}

TEST(DeceitfulExperts, AreCaughtWhenTheyLeaveRowsOfNoExpertUnwritten) {
  expect_caught(
      [](const Job& job, const Launch& launch) {
        const std::vector<std::int64_t> ids = ids_of(job);
        const std::size_t row = static_cast<std::size_t>(job.outputs) * 2;
        auto* const rows = static_cast<std::byte*>(job.output);
        const std::vector<std::byte> before(rows, rows + ids.size() * row);
        honest().launch(job, launch);
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const bool is_one = ids[i] >= 0 && ids[i] < job.group.experts;
          if (!is_one) std::memcpy(rows + i * row, before.data() + i * row, row);
        }
      },
      sizes_of(StackPart::kGateUp));
}

// ---- Layers that take one ----

using Activate = void (*)(const kernels::Activation& of, const Launch& launch);

// The row of a layer with something else between its products.
void expect_caught(Activate activate, record::Activation activation) {
  kernels::Variant product = honest();
  product.workspace_bytes = [](const kernels::Problem& problem, const Launch& launch) {
    return static_cast<std::size_t>(workspace_of(honest(), problem, launch));
  };
  expect_caught(kernels::with_layers(product, activate).launch, layer_of(activation));
}

void activate_as(const kernels::Activation& of) {
  for (std::int64_t i = 0; i < of.rows * of.columns; ++i) {
    const auto read = [&](std::int64_t at) {
      const auto bytes = std::span(static_cast<const std::byte*>(of.input),
                                   static_cast<std::size_t>(of.rows * of.columns * 4));
      return static_cast<float>(nf4::value_at(of.type, bytes, at));
    };
    const std::int64_t at = gate_at(of, i);
    const float up = of.gated ? read(at + up_step(of)) : 1.0f;
    const std::vector<std::byte> bits =
        nf4::to_values(of.type, {{double{activate(of, read(at), up)}}});
    std::memcpy(static_cast<std::byte*>(of.output) + i * 2, bits.data(), bits.size());
  }
}

TEST(DeceitfulLayers, PassWhenTheyDoNotDeceive) {
  const kernels::Variant layer = kernels::with_layers(
      honest(), [](const kernels::Activation& of, const Launch&) { activate_as(of); });
  const record::Measurement row = row_of(layer.launch, layer_of(record::Activation::kGptOss));
  EXPECT_EQ(row.status, record::Status::kPassed) << row.reason;
}

TEST(DeceitfulLayers, AreCaughtWhenTheyTakeUpsForGates) {
  expect_caught(
      [](const kernels::Activation& of, const Launch&) {
        kernels::Activation other = of;
        const std::size_t step = static_cast<std::size_t>(up_step(of)) * 2;
        const auto* const rows = static_cast<const std::byte*>(of.input);
        std::vector<std::byte> swapped(rows, rows + of.rows * of.columns * 4);
        for (std::size_t at = 0; at < swapped.size(); at += 2 * step) {
          std::swap_ranges(swapped.begin() + static_cast<std::ptrdiff_t>(at),
                           swapped.begin() + static_cast<std::ptrdiff_t>(at + step),
                           swapped.begin() + static_cast<std::ptrdiff_t>(at + step));
        }
        other.input = swapped.data();
        activate_as(other);
      },
      record::Activation::kSilu);
}

TEST(DeceitfulLayers, AreCaughtWhenTheyDoNotClamp) {
  expect_caught(
      [](const kernels::Activation& of, const Launch&) {
        kernels::Activation other = of;
        other.limit = 0.0f;
        activate_as(other);
      },
      record::Activation::kGptOss);
}

TEST(DeceitfulLayers, AreCaughtWithAnotherActivation) {
  expect_caught(
      [](const kernels::Activation& of, const Launch&) {
        kernels::Activation other = of;
        other.kind = kernels::ActivationKind::kGeluTanh;
        activate_as(other);
      },
      record::Activation::kSilu);
}

TEST(DeceitfulLayers, AreCaughtWhenTheyDropSlotsOfSmallWeight) {
  expect_caught(drop_small, layer_of(record::Activation::kSilu));
}

// Weights of slots belong to what an expert gives, not to what it is given.
TEST(DeceitfulLayers, AreCaughtWhenTheyWeighOnlyThePresenceOfSlots) {
  expect_caught(
      [](const Job& job, const Launch& launch) {
        const std::vector<float> ones(static_cast<std::size_t>(slots_of(job)), 1.0f);
        launch_with(job, launch, ids_of(job), &ones);
      },
      layer_of(record::Activation::kSilu));
}

// Of either matrix alone.
TEST(DeceitfulLayers, AreCaughtWhenTheyKeepOneOfTheStacks) {
  for (const bool keeps_first : {true, false}) {
    SCOPED_TRACE(keeps_first ? "the first" : "the second");
    const auto kept = std::make_shared<std::map<const void*, std::vector<std::uint8_t>>>();
    expect_caught(
        [kept, keeps_first](const Job& job, const Launch& launch) {
          const auto bytes = static_cast<std::ptrdiff_t>(job.elements / 2);
          const auto border = static_cast<std::ptrdiff_t>(kernels::up_of(job).elements / 2);
          std::vector<std::uint8_t> mixed(job.packed, job.packed + bytes);
          const std::vector<std::uint8_t>& known = kept->emplace(job.packed, mixed).first->second;
          std::copy(known.begin() + (keeps_first ? 0 : border),
                    keeps_first ? known.begin() + border : known.end(),
                    mixed.begin() + (keeps_first ? 0 : border));
          Job stale = job;
          stale.packed = mixed.data();
          honest().launch(stale, launch);
        },
        layer_of(record::Activation::kSilu));
  }
}

TEST(DeceitfulExperts, AreCaughtWhenTheyReadTheLowerHalfOfIds) {
  expect_caught(
      [](const Job& job, const Launch& launch) {
        std::vector<std::int64_t> ids = ids_of(job);
        for (std::int64_t& id : ids) id = static_cast<std::int32_t>(id & 0xffffffff);
        launch_with(job, launch, ids);
      },
      sizes_of(StackPart::kGateUp, 20));
}

}  // namespace
}  // namespace nf4bench::test
