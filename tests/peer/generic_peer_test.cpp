// Peers made with nf4bench_peer.h, good and bad, on the CPU device.

#include "peer/generic_peer.hpp"

#include "base/error.hpp"
#include "device/devices.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/weight.hpp"
#include "peer/peer_table.hpp"
#include "peer/peers.hpp"
#include "peer/product.hpp"
#include "peer/python/python_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

using test::find;
using test::kGuarded;
using testing::ElementsAre;
using testing::HasSubstr;

class GenericPeer : public testing::Test {
 protected:
  static peer::Peers load(const char* script) {
    setenv("NF4BENCH_TEST_PEER", script, 1);
    peer::Peers peers({{"mine", TEST_PEER_SCRIPTED}}, {.kind = record::DeviceKind::kCpu}, {});
    unsetenv("NF4BENCH_TEST_PEER");
    return peers;
  }

  // What verification says about `name` of the bad peers: a message of an error, or "wrong" or "".
  static std::string verdict(const std::string& name, const nf4::SyntheticSpec& spec,
                             device::UploadPurpose purpose) {
    const peer::Peers peers = load("bad");
    const auto device = device::open_cpu_device({});
    const nf4::Nf4Tensor tensor = nf4::make_synthetic(spec);
    const auto expected = nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16);
    const auto workload =
        device->upload(operation::dequantize_work(tensor, nf4::OutputType::kFloat16), purpose);
    return test::verdict_of(*workload, find(peers, "mine." + name), expected);
  }

  static std::string verdict(const std::string& name) {
    return verdict(name, {.shape = {33, 77}}, device::UploadPurpose::kVerify);
  }
};

TEST_F(GenericPeer, OffersItsVariantsForThisKindOfDevice) {
  const peer::Peers peers = load("good");
  std::vector<std::string> names;
  for (const kernels::Variant& variant : peers.variants()) names.emplace_back(variant.name);
  EXPECT_THAT(names, ElementsAre("mine", "mine.scratch", "mine.plain"));
  EXPECT_STREQ(peers.variants().front().summary, "scripted");
}

TEST_F(GenericPeer, IsExactAndHasItsWorkspace) {
  const peer::Peers peers = load("good");
  const auto device = device::open_cpu_device({});
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    const nf4::Nf4Tensor tensor =
        nf4::make_synthetic({.shape = {33, 77},
                             .blocksize = 32,
                             .absmax_kind = kind,
                             .distribution = nf4::Distribution::kExtremes});
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      const auto expected = nf4::reference_dequantize(tensor, type);
      const auto workload = device->upload(operation::dequantize_work(tensor, type), kGuarded);
      for (const char* name : {"mine", "mine.scratch"}) {
        const kernels::Variant& variant = find(peers, name);
        EXPECT_EQ(workload->unsupported(variant), "");
        EXPECT_TRUE(workload->verify(variant, expected).passed()) << name << to_string(type);
        EXPECT_GT(
            workload->sample(variant, {record::CacheMode::kCold, record::LaunchMode::kStream, 2})
                .seconds,
            0);
        EXPECT_TRUE(workload->verify(variant, expected).passed()) << name << to_string(type);
      }
    }
  }
}

TEST_F(GenericPeer, GivesItsOwnReasonForWhatItCannotDo) {
  const peer::Peers peers = load("good");
  const auto device = device::open_cpu_device({});
  const auto nested = device->upload(
      operation::dequantize_work(nf4::make_synthetic({.shape = {64}}), nf4::OutputType::kFloat32),
      device::UploadPurpose::kVerify);
  EXPECT_EQ(nested->unsupported(find(peers, "mine.plain")), "plain tensors only");
  const auto plain = device->upload(
      operation::dequantize_work(
          nf4::make_synthetic({.shape = {64}, .absmax_kind = nf4::AbsmaxKind::kPlain}),
          nf4::OutputType::kFloat32),
      device::UploadPurpose::kVerify);
  EXPECT_EQ(plain->unsupported(find(peers, "mine.plain")), "");
}

TEST_F(GenericPeer, AnAnswerThatNoLibraryShouldGiveIsAReason) {
  const peer::Peers peers = load("odd");
  const auto workload = device::open_cpu_device({})->upload(
      operation::dequantize_work(nf4::make_synthetic({.shape = {64}}), nf4::OutputType::kFloat32),
      device::UploadPurpose::kVerify);
  const auto reason = [&](const char* name) { return workload->unsupported(find(peers, name)); };
  EXPECT_EQ(reason("mine.mute"), "declines it without a reason");
  EXPECT_EQ(reason("mine.throws"), "threw an exception from unsupported(), which a peer must not");
  const char* const kWorkspace =
      "asks for more than 1 TiB of workspace, or threw an exception when it was asked";
  EXPECT_EQ(reason("mine.greedy"), kWorkspace);
  EXPECT_EQ(reason("mine.throws_size"), kWorkspace);
  EXPECT_LT(std::string(find(peers, "mine.verbose").summary).size(), 300u);
}

TEST_F(GenericPeer, ItsErrorCodeIsAFailure) {
  EXPECT_EQ(verdict("error"), "returned error 7");
}

TEST_F(GenericPeer, ItsExceptionIsAFailure) {
  EXPECT_THAT(verdict("throws"), HasSubstr("no luck"));
}

TEST_F(GenericPeer, WhatItDoesNotWriteIsFound) {
  EXPECT_EQ(verdict("nothing"), "wrong");
  EXPECT_EQ(verdict("half"), "wrong");
}

TEST_F(GenericPeer, AWrongBitIsFound) {
  EXPECT_EQ(verdict("wrong"), "wrong");
}

TEST_F(GenericPeer, WritesOutOfItsBuffersAreFound) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1}, {5, 77}, {64, 64}, {4096, 65}}) {
    const nf4::SyntheticSpec spec = {.shape = shape};
    EXPECT_EQ(verdict("past", spec, kGuarded), "wrote past the end of its output");
    EXPECT_EQ(verdict("before", spec, kGuarded), "wrote before the start of its output");
    EXPECT_EQ(verdict("workspace_past", spec, kGuarded), "wrote past the end of its workspace");
    EXPECT_EQ(verdict("workspace_before", spec, kGuarded),
              "wrote before the start of its workspace");
  }
}

TEST_F(GenericPeer, WritesOutOfItsBuffersAreFoundWhereItIsToBeTimed) {
  const nf4::SyntheticSpec spec = {.shape = {64}};
  EXPECT_EQ(verdict("past", spec, device::UploadPurpose::kTimeHot),
            "wrote past the end of its output");
  EXPECT_EQ(verdict("workspace_before", spec, device::UploadPurpose::kTimeHot),
            "wrote before the start of its workspace");
}

TEST_F(GenericPeer, AWorkspaceEndsWhereItShouldAfterALargerOne) {
  const peer::Peers peers = load("bad");
  const auto workload = device::open_cpu_device({})->upload(
      operation::dequantize_work(nf4::make_synthetic({.shape = {256, 256}}),
                                 nf4::OutputType::kFloat16),
      kGuarded);
  kernels::Variant greedy = find(peers, "mine.nothing");
  greedy.name = "greedy";
  greedy.workspace_bytes = [](const kernels::Problem&, const kernels::Launch&) {
    return std::size_t{100000};
  };
  workload->output_of(greedy);
  EXPECT_THROW(workload->output_of(find(peers, "mine.workspace_past")), Error);
}

TEST_F(GenericPeer, AGoodOneStillPassesAfterABadOneRanOnTheSameBuffers) {
  const peer::Peers bad = load("bad");
  const peer::Peers good = load("good");
  const auto device = device::open_cpu_device({});
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {33, 77}});
  const auto expected = nf4::reference_dequantize(tensor, nf4::OutputType::kBfloat16);
  const auto workload =
      device->upload(operation::dequantize_work(tensor, nf4::OutputType::kBfloat16), kGuarded);
  for (const kernels::Variant& variant : bad.variants()) {
    EXPECT_NE(test::verdict_of(*workload, variant, expected), "") << variant.name;
    EXPECT_TRUE(workload->verify(find(good, "mine.scratch"), expected).passed())
        << "after " << variant.name;
  }
}

TEST(PythonTable, NamesTheVariantThatAnotherIsThroughTorchCompile) {
  nf4bench_peer_variant functions[2] = {};
  for (nf4bench_peer_variant& each : functions) each.launch = [](const auto*, void*) { return 0; };
  functions[0].name = "f";
  functions[1].name = "f_compiled";
  functions[1].flags = peer::kPythonCompiled;
  const nf4bench_peer_table table = {.abi = NF4BENCH_PEER_ABI,
                                     .variant_bytes = sizeof(nf4bench_peer_variant),
                                     .variant_count = 2,
                                     .table_bytes = sizeof(nf4bench_peer_table),
                                     .variants = functions,
                                     .error_text = nullptr};
  std::deque<std::string> strings;
  const std::vector<kernels::Variant> variants =
      peer::generic_variants(peer::read_python_table(table), "mine", {}, strings);
  ASSERT_EQ(variants.size(), 2U);
  EXPECT_STREQ(variants[0].traits.compiled_from, "");
  EXPECT_STREQ(variants[1].traits.compiled_from, "mine.f");
}

}  // namespace
}  // namespace nf4bench
