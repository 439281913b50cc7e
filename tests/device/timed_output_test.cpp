// Variants that are right when they are verified and do less when they are timed, on the CPU
// device.

#include "device/buffered_workload.hpp"
#include "device/cpu/cpu_executor.hpp"
#include "device/cpu/cpu_memory.hpp"
#include "nf4/arithmetic.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/contents.hpp"
#include "operation/dequantize.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace nf4bench {
namespace {

using device::FaultKind;

constexpr device::SampleSpec kCold = {record::CacheMode::kCold, record::LaunchMode::kStream, 4};
constexpr device::SampleSpec kHot = {record::CacheMode::kHot, record::LaunchMode::kStream, 4};

// Elements [first, last) of a plain tensor as bfloat16.
void decode(const kernels::Job& job, std::int64_t first, std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) {
    const unsigned pair = job.packed[i / 2];
    const int code = static_cast<int>(i % 2 == 0 ? pair >> 4 : pair & 15u);
    const float value =
        nf4::multiply_flushed(nf4::codebook_value(code), job.absmax[i >> job.block_shift]);
    static_cast<std::uint16_t*>(job.output)[i] = nf4::to_bfloat16_bits(value);
  }
}

void decode(const kernels::Job& job) {
  decode(job, 0, job.elements);
}

// A variant whose work gets the number of the call.
kernels::Variant variant_of(std::function<void(const kernels::Job&, int call)> work) {
  kernels::Variant variant;
  variant.name = "variant";
  auto calls = std::make_shared<std::atomic<int>>(0);
  variant.launch = [calls, work = std::move(work)](
                       const kernels::Job& job, const kernels::Launch&) { work(job, (*calls)++); };
  return variant;
}

class TimedOutput : public testing::Test {
 protected:
  TimedOutput()
      : tensor_(nf4::make_synthetic({.shape = {512, 256}, .absmax_kind = nf4::AbsmaxKind::kPlain})),
        sibling_(operation::negated(tensor_)),
        own_(nf4::reference_dequantize(tensor_, nf4::OutputType::kBfloat16)),
        other_(nf4::reference_dequantize(sibling_, nf4::OutputType::kBfloat16)),
        workload_(upload()) {}

  // As for a processor with a cache of a mebibyte, through which five times as much rotates: 17
  // sets.
  std::unique_ptr<device::Workload> upload() const {
    record::DeviceInfo info;
    info.l2_bytes = 1 << 20;
    const device::Work work =
        operation::make_work(operation::dequantize(), {tensor_, &sibling_},
                             operation::problem_of(tensor_, nf4::OutputType::kBfloat16));
    return device::make_workload(
        {.info = info, .config = "", .caches_rotated = 5, .memory = device::cpu_memory()}, work,
        {.purpose = device::UploadPurpose::kTime, .guard = 4096}, device::make_cpu_executor(1));
  }

  device::Expected expected() const { return {own_, other_}; }

  void change() {
    std::vector<std::byte> no_input;
    workload_->change(operation::change_weight(
        operation::dequantize(), {problem_, sibling_, no_input, own_, other_}, random_));
  }

  // What a check finds after a change, of a variant that has seen all sets.
  std::optional<device::OutputFault> fault_after_change(const kernels::Variant& variant,
                                                        device::SampleSpec spec) {
    EXPECT_TRUE(workload_->verify(variant, own_).passed());
    spec.launches = 2 * workload_->buffer_sets();
    EXPECT_FALSE(workload_->judged_sample(variant, spec, expected()).fault);
    change();
    return workload_->check(variant, spec, expected());
  }

  // Verifies the variant, as a run does, and then checks it.
  device::OutputFault fault_of(const kernels::Variant& variant, const device::SampleSpec& spec) {
    EXPECT_TRUE(workload_->verify(variant, own_).passed());
    const auto fault = workload_->check(variant, spec, expected());
    EXPECT_TRUE(fault);
    return fault.value_or(device::OutputFault{});
  }

  nf4::Nf4Tensor tensor_;
  nf4::Nf4Tensor sibling_;
  const kernels::Problem problem_ = operation::problem_of(tensor_, nf4::OutputType::kBfloat16);
  std::mt19937_64 random_{1};
  std::vector<std::byte> own_;
  std::vector<std::byte> other_;
  std::unique_ptr<device::Workload> workload_;
};

TEST_F(TimedOutput, OfAnHonestVariantIsRightInEverySample) {
  const kernels::Variant honest = variant_of([](const kernels::Job& job, int) { decode(job); });
  for (const int launches : {1, 2, 7, 2 * workload_->buffer_sets() + 1}) {
    for (const record::CacheMode cache : {record::CacheMode::kCold, record::CacheMode::kHot}) {
      const device::SampleSpec spec = {cache, record::LaunchMode::kStream, launches};
      for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(workload_->judged_sample(honest, spec, expected()).fault) << launches;
      }
      EXPECT_FALSE(workload_->check(honest, spec, expected())) << launches;
    }
  }
}

TEST_F(TimedOutput, OfAnHonestVariantIsRightHoweverInputsChange) {
  kernels::Variant prepares = variant_of([](const kernels::Job& job, int) {
    kernels::Job prepared = job;
    prepared.absmax = static_cast<const float*>(job.prepared);
    decode(prepared);
  });
  prepares.prepared_bytes = [](const kernels::Problem& problem) {
    return static_cast<std::size_t>(problem.blocks) * sizeof(float);
  };
  prepares.prepare = [](const kernels::Job& job, const kernels::Launch&) {
    std::memcpy(job.prepared, job.absmax, static_cast<std::size_t>(job.blocks) * sizeof(float));
  };
  prepares.name = "prepares";
  for (const kernels::Variant& honest :
       {variant_of([](const kernels::Job&job, int) { decode(job); }), prepares}) {
    for (const device::SampleSpec& spec : {kCold, kHot, kCold, kHot}) {
      change();
      EXPECT_FALSE(workload_->judged_sample(honest, spec, expected()).fault) << honest.name;
      change();
      EXPECT_FALSE(workload_->check(honest, spec, expected())) << honest.name;
      EXPECT_TRUE(workload_->verify(honest, own_).passed()) << honest.name;
    }
  }
}

// By where its inputs are, and how they begin.
TEST_F(TimedOutput, ThatIsRememberedIsFound) {
  for (const device::SampleSpec& spec : {kCold, kHot}) {
    using Beginning = std::tuple<const void*, const void*, std::uint64_t, float>;
    std::map<Beginning, std::vector<std::byte>> known;
    const kernels::Variant remembers = variant_of([&known](const kernels::Job& job, int) {
      std::uint64_t codes = 0;
      std::memcpy(&codes, job.packed, sizeof(codes));
      std::vector<std::byte>& output = known[{job.packed, job.absmax, codes, job.absmax[0]}];
      const auto bytes = static_cast<std::size_t>(job.elements) * 2;
      if (output.empty()) {
        decode(job);
        output.resize(bytes);
        std::memcpy(output.data(), job.output, bytes);
      }
      std::memcpy(job.output, output.data(), bytes);
    });
    const auto fault = fault_after_change(remembers, spec);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::kStale);
    EXPECT_GT(fault->elements, 0);
    EXPECT_LE(fault->elements, 64);
    change();
    change();
    const auto later = workload_->check(remembers, spec, expected());
    ASSERT_TRUE(later);
    EXPECT_EQ(later->kind, FaultKind::kStale);
  }
}

TEST_F(TimedOutput, OfScalesThatAreRememberedIsFound) {
  std::map<const void*, std::vector<float>> known;
  const kernels::Variant remembers = variant_of([&known](const kernels::Job& job, int) {
    std::vector<float>& scales = known[job.absmax];
    if (scales.empty()) scales.assign(job.absmax, job.absmax + job.blocks);
    kernels::Job remembered = job;
    remembered.absmax = scales.data();
    decode(remembered);
  });
  EXPECT_TRUE(fault_after_change(remembers, kCold));
}

TEST_F(TimedOutput, OfARepetitionHelpsNoLaterCall) {
  for (const device::SampleSpec& spec : {kCold, kHot}) {
    int calls = 0;
    const kernels::Variant honest = variant_of([&calls](const kernels::Job& job, int) {
      decode(job);
      ++calls;
    });
    workload_->repeat(honest, spec, 10);
    EXPECT_EQ(calls, 10 * spec.launches);
    EXPECT_FALSE(workload_->judged_sample(honest, spec, expected()).fault);
    workload_->repeat(honest, spec, workload_->buffer_sets());
    const kernels::Variant idle = variant_of([](const kernels::Job&, int) {});
    EXPECT_TRUE(workload_->judged_sample(idle, spec, expected()).fault);
  }
}

TEST_F(TimedOutput, ThatIsThereAlreadyAndSkippedIsFound) {
  const kernels::Variant skips = variant_of([](const kernels::Job& job, int) {
    constexpr std::int64_t kTile = 1024;
    const auto* const output = static_cast<const std::uint16_t*>(job.output);
    for (std::int64_t first = 0; first < job.elements; first += kTile) {
      const std::uint16_t before = output[first];
      decode(job, first, first + 1);
      if (first < job.elements / 2 && output[first] == before) continue;
      decode(job, first, first + kTile);
    }
  });
  const device::OutputFault fault = fault_of(skips, kCold);
  EXPECT_EQ(fault.kind, FaultKind::kSkipped);
  EXPECT_GT(fault.elements, 0);
  EXPECT_LE(fault.elements, tensor_.elements / 4);
}

TEST_F(TimedOutput, OfWhichATenthIsLeftOutIsFound) {
  for (const device::SampleSpec& spec : {kCold, kHot}) {
    const device::OutputFault fault =
        fault_of(variant_of([](const kernels::Job& job, int call) {
                   decode(job, 0, call == 0 ? job.elements : job.elements - job.elements / 10);
                 }),
                 spec);
    EXPECT_EQ(fault.kind, FaultKind::kUnwritten);
    EXPECT_EQ(fault.elements, tensor_.elements / 10);
    EXPECT_EQ(fault.found.mismatches, tensor_.elements / 10);
    EXPECT_EQ(fault.found.compared, tensor_.elements);
    EXPECT_EQ(fault.sets, workload_->buffer_sets());
  }
}

TEST_F(TimedOutput, OfFewCallsThatWorkIsFound) {
  const kernels::Variant tires = variant_of([](const kernels::Job& job, int call) {
    if (call < 2) decode(job);
  });
  const device::OutputFault fault = fault_of(tires, kCold);
  EXPECT_EQ(fault.kind, FaultKind::kUnwritten);
  EXPECT_EQ(fault.elements, tensor_.elements);
}

// The last call of a hot sample finds what the call before it left, which is not what it is asked
// for.
TEST_F(TimedOutput, OfAHotCallThatDoesNothingBelongsToTheOtherContent) {
  const kernels::Variant lazy = variant_of([](const kernels::Job& job, int call) {
    if (call % 4 != 1) decode(job);
  });
  const device::OutputFault fault = fault_of(lazy, kHot);  // calls 2 to 5
  EXPECT_EQ(fault.kind, FaultKind::kForeign);
  EXPECT_EQ(fault.elements, tensor_.elements);
}

TEST_F(TimedOutput, OfTwoSetsThatChangedPlacesIsFound) {
  void* last = nullptr;
  const kernels::Variant swaps = variant_of([&last](const kernels::Job& job, int call) {
    kernels::Job moved = job;
    if (call > 1) moved.output = std::exchange(last, job.output);
    if (call <= 1) last = job.output;
    decode(moved);
  });
  const device::OutputFault fault = fault_of(swaps, kCold);
  EXPECT_EQ(fault.kind, FaultKind::kForeign);
  EXPECT_EQ(fault.elements, tensor_.elements);
}

TEST_F(TimedOutput, ThatIsWrittenLateIsFound) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::deque<std::pair<std::chrono::steady_clock::time_point, kernels::Job>> jobs;
  std::jthread late([&](const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (wake.wait(lock, stop, [&] { return !jobs.empty(); })) {
      const auto [due, job] = jobs.front();
      jobs.pop_front();
      lock.unlock();
      std::this_thread::sleep_until(due);
      decode(job);
      lock.lock();
    }
  });
  const kernels::Variant lags = variant_of([&](const kernels::Job& job, int call) {
    if (call == 0) return decode(job);
    const std::lock_guard lock(mutex);
    jobs.emplace_back(std::chrono::steady_clock::now() + std::chrono::milliseconds(10), job);
    wake.notify_one();
  });
  EXPECT_TRUE(workload_->verify(lags, own_).passed());
  // On a busy machine this thread may be the later one, now and then, or the other one so late that
  // nobody waits for it.
  std::optional<device::OutputFault> fault;
  for (int i = 0; i < 20 && (!fault || fault->kind != FaultKind::kLate); ++i) {
    fault = workload_->check(lags, {record::CacheMode::kCold, record::LaunchMode::kStream, 1},
                             expected());
  }
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kLate);
  EXPECT_GT(fault->elements, 0);
}

TEST_F(TimedOutput, OfASetThatNoCallWasGivenIsLookedAt) {
  std::set<void*> seen;
  const kernels::Variant strays = variant_of([&seen](const kernels::Job& job, int) {
    decode(job);
    for (void* const each : seen) {
      if (each != job.output) static_cast<unsigned char*>(each)[0] ^= 1;
    }
    seen.insert(job.output);
  });
  for (int i = 0; i < workload_->buffer_sets(); ++i) {
    workload_->sample(strays, {record::CacheMode::kCold, record::LaunchMode::kStream, 1});
  }
  const auto fault = workload_->check(
      strays, {record::CacheMode::kCold, record::LaunchMode::kStream, 1}, expected());
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kStray);
}

TEST_F(TimedOutput, IsSpoiltBeforeTheNextCallWritesIt) {
  bool is_looked_at = false;
  int spoilt = 0;
  int untouched = 0;
  const kernels::Variant looks = variant_of([&](const kernels::Job& job, int) {
    if (is_looked_at) {
      const auto* const bytes = static_cast<const unsigned char*>(job.output);
      int pieces = 0;
      for (std::int64_t i = 0; i < job.elements * 2; i += device::kPoisonPiece) {
        pieces += bytes[i] == device::kPoisonByte && bytes[i + 1] == device::kPoisonByte;
      }
      spoilt += pieces > 64;
      untouched += pieces == 0;
    }
    decode(job);
  });
  const device::SampleSpec all = {record::CacheMode::kCold, record::LaunchMode::kStream,
                                  workload_->buffer_sets()};
  workload_->sample(looks, all);
  is_looked_at = true;
  for (int i = 0; i < 3; ++i) workload_->sample(looks, all);
  EXPECT_EQ(spoilt, 3 * workload_->buffer_sets());
  EXPECT_EQ(untouched, 0);
}

// Of two neighbours one each; which one is drawn.
TEST_F(TimedOutput, SetsHoldTwoContentsThatNobodyCanTell) {
  const auto first_scales = [this] {
    const auto workload = upload();
    std::vector<bool> own;
    const kernels::Variant looks = variant_of([&](const kernels::Job& job, int call) {
      if (call > 0) own.push_back(job.absmax[0] == tensor_.absmax[0]);
      decode(job);
    });
    workload->sample(
        looks, {record::CacheMode::kCold, record::LaunchMode::kStream, workload->buffer_sets()});
    return own;
  };
  std::set<std::vector<bool>> drawn;
  for (int i = 0; i < 3; ++i) {
    const std::vector<bool> own = first_scales();
    ASSERT_GT(own.size(), 16u);
    for (std::size_t set = 1; set + 2 < own.size(); set += 2) EXPECT_NE(own[set], own[set + 1]);
    drawn.insert(own);
  }
  EXPECT_GT(drawn.size(), 1u);
}

// Where calls come round to a set again they write its neighbour's output, so that nothing is there
// already.
TEST_F(TimedOutput, HoldsTheOtherContentWhenACallComesRoundAgain) {
  const int sets = workload_->buffer_sets();
  std::map<void*, float> last;
  int same = 0;
  int calls = 0;
  const kernels::Variant looks = variant_of([&](const kernels::Job& job, int) {
    const auto known = last.find(job.output);
    if (known != last.end()) same += known->second == job.absmax[0];
    last[job.output] = job.absmax[0];
    ++calls;
    decode(job);
  });
  workload_->sample(looks, {record::CacheMode::kCold, record::LaunchMode::kStream, sets});
  last.clear();
  same = calls = 0;
  workload_->sample(looks, {record::CacheMode::kCold, record::LaunchMode::kStream, 2 * sets});
  EXPECT_EQ(calls, 2 * sets);
  EXPECT_LE(same, sets % 2);
}

}  // namespace
}  // namespace nf4bench
