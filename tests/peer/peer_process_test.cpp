// A peer in a process of its own, from the side of the program that has started it.

#include "base/error.hpp"
#include "device/devices.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/weight.hpp"
#include "peer/product.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

using test::find;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMemory = std::int64_t{512} << 20;

class PeerProcess : public testing::Test {
 protected:
  peer::Peers load(const char* script, const std::string& path = TEST_PEER_SCRIPTED) {
    setenv("NF4BENCH_TEST_PEER", script, 1);
    peer::ProcessLimits limits;
    limits.load_s = limits.call_s = 60.0;
    limits.memory_bytes = kMemory;
    limits.program = NF4BENCH_BINARY;
    return peer::load_peers({{"mine", path}}, *device_, operation::dequantize(), limits);
  }
  ~PeerProcess() override { unsetenv("NF4BENCH_TEST_PEER"); }

  // What verification says of a variant: a message of an error, "wrong", or nothing.
  std::string verdict(const kernels::Variant& variant) {
    const std::unique_ptr<device::Workload> workload =
        device_->upload(operation::dequantize_work(tensor_, nf4::OutputType::kFloat16),
                        device::UploadPurpose::kTime);
    return test::verdict_of(*workload, variant, expected_);
  }

  static std::unique_ptr<device::Device> open() {
    device::DeviceOptions options;
    options.shares_buffers = true;
    return device::open_cpu_device(options);
  }

  std::unique_ptr<device::Device> device_ = open();
  nf4::Nf4Tensor tensor_ = nf4::make_synthetic({.shape = {100, 77}});
  std::vector<std::byte> expected_ = nf4::reference_dequantize(tensor_, nf4::OutputType::kFloat16);
};

TEST_F(PeerProcess, OffersWhatTheLibraryHasWithItsReasons) {
  const peer::Peers peers = load("good");
  std::vector<std::string> names;
  for (const kernels::Variant& variant : peers.variants()) {
    if (std::string(variant.name).starts_with("mine")) names.emplace_back(variant.name);
  }
  EXPECT_THAT(names, ElementsAre("mine", "mine.scratch", "mine.plain"));
  EXPECT_STREQ(find(peers, "mine").summary, "scripted");
  EXPECT_STREQ(find(peers, "mine").traits.peer, "mine");
  const auto workload =
      device_->upload(operation::dequantize_work(tensor_, nf4::OutputType::kFloat16),
                      device::UploadPurpose::kVerify);
  EXPECT_EQ(workload->unsupported(find(peers, "mine.plain")), "plain tensors only");
  EXPECT_EQ(workload->unsupported(find(peers, "mine.scratch")), "");
}

TEST_F(PeerProcess, WritesTheSharedBuffersAndSaysHowLongThatTook) {
  const peer::Peers peers = load("good");
  EXPECT_EQ(verdict(find(peers, "mine")), "");
  EXPECT_EQ(verdict(find(peers, "mine.scratch")), "");
  const auto workload = device_->upload(
      operation::dequantize_work(tensor_, nf4::OutputType::kFloat16), device::UploadPurpose::kTime);
  for (const record::CacheMode cache : {record::CacheMode::kCold, record::CacheMode::kHot}) {
    const device::SampleSpec spec = {cache, record::LaunchMode::kStream, 3};
    const device::JudgedSample judged =
        workload->judged_sample(find(peers, "mine.scratch"), spec, {.own = expected_});
    EXPECT_FALSE(judged.fault);
    EXPECT_GT(judged.sample.seconds, 1e-6);
    EXPECT_LT(judged.sample.seconds, 10.0);
  }
  EXPECT_GT(peers.processor_seconds(), 0.0);
}

TEST_F(PeerProcess, ThatTakesTooMuchMemoryEndsAndTheNextCallHasAnother) {
  const peer::Peers peers = load("harmful");
  EXPECT_THAT(verdict(find(peers, "mine.devours")),
              HasSubstr("of memory, more than the 0.5 GB that it may"));
  EXPECT_EQ(verdict(find(peers, "mine.good")), "");
}

TEST_F(PeerProcess, OfALibraryThatCannotBeLoadedSaysWhy) {
  EXPECT_THAT(load("good", "/nowhere/lib.so").warnings(),
              ElementsAre(HasSubstr("peer mine: cannot open /nowhere/lib.so")));
  EXPECT_THAT(load("name").warnings(), ElementsAre(HasSubstr("is not 1 to 64 letters")));
}

TEST_F(PeerProcess, ThatEndsWhileItLoadsIsAPeerThatCannotBeUsed) {
  const peer::Peers peers = load("exits_when_loaded");
  EXPECT_THAT(peers.warnings(), ElementsAre(HasSubstr("while it was loaded, it ended its process "
                                                      "with exit code 3")));
}

TEST_F(PeerProcess, ReadsEveryKindOfProblem) {
  const peer::Peers peers = load("good");
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    const nf4::Nf4Tensor tensor =
        nf4::make_synthetic({.shape = {33, 77},
                             .blocksize = 32,
                             .absmax_kind = kind,
                             .distribution = nf4::Distribution::kExtremes});
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      const auto workload =
          device_->upload(operation::dequantize_work(tensor, type), device::UploadPurpose::kVerify);
      EXPECT_TRUE(
          workload->verify(find(peers, "mine.scratch"), nf4::reference_dequantize(tensor, type))
              .passed());
    }
  }
}

}  // namespace
}  // namespace nf4bench
