#pragma once

// A device whose variants do what a script says: how long a call takes, what is wrong with the
// output, what is refused. It has a clock of its own, moved by what is sampled, so that tests of
// stopping rules, order and failures take no time and give the same result everywhere.

#include "base/error.hpp"
#include "device/device.hpp"
#include "operation/dequantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench {

// A call that the device got.
struct FakeCall {
  enum class Kind : std::uint8_t { kUpload, kVerify, kSample, kCheck, kRepeat, kChange };
  Kind kind = Kind::kUpload;
  std::string tensor;
  std::string variant{};                                           // empty for kUpload
  nf4::OutputType type = nf4::OutputType::kFloat16;                //
  device::UploadPurpose purpose = device::UploadPurpose::kVerify;  // of the workload
  device::SampleSpec spec{};                                       // kSample and kCheck
  bool is_judged = false;                                          // kSample only
  double at_s = 0.0;     // of the fake clock, before the call
  std::int64_t nth = 0;  // such calls of this variant before
};

// How one variant behaves. Every function may be empty.
struct FakeScript {
  std::function<double(const FakeCall&)> seconds;              // a call; 10 us when empty
  std::string unsupported{};                                   // why it cannot run
  std::function<bool(const FakeCall&)> is_wrong{};             // a verification finds a mismatch
  std::function<std::string(const FakeCall&)> device_error{};  // message of an Error(kDevice)
  // What a judged sample or a check finds.
  std::function<std::optional<device::OutputFault>(const FakeCall&)> fault{};
};

class FakeDevice final : public device::Device {
 public:
  explicit FakeDevice(const std::vector<std::string>& variant_names = {"slow", "fast"},
                      const std::vector<std::string>& stream_names = {}) {
    info_.id = "fake";
    info_.name = "Fake device";
    for (const std::string& name : variant_names) {
      catalog_.variants.push_back(make_variant(name));
    }
    for (const std::string& name : stream_names) {
      catalog_.stream_shapes.push_back(make_variant(name));
    }
  }

  const std::vector<kernels::Variant>& variants() const { return catalog_.variants; }
  kernels::Variant& variant(const std::string& name) {
    return *std::ranges::find(catalog_.variants, name, &kernels::Variant::name);
  }

  // Dequantization with this device's variants.
  operation::Operation operation() {
    catalog_.flagship = operation::dequantize().catalog(info_.kind).flagship;
    if (info_.kind == record::DeviceKind::kCuda) catalog_.flagship = "fused";  // in any build
    operation::Operation operation = operation::dequantize();
    operation.traffic = [this](const kernels::Problem& problem) {
      operation::Traffic traffic = operation::dequantize().traffic(problem);
      traffic.flops = flops;
      return traffic;
    };
    if (!probes.empty()) {
      operation.probes = [this](const kernels::Problem&, const record::RunOptions&,
                                record::DeviceKind) { return probes; };
    }
    operation.catalog = [this](record::DeviceKind) -> const kernels::Catalog& { return catalog_; };
    return operation;
  }

  // The script of a variant or stream shape, to be filled in by the test.
  FakeScript& script(const std::string& variant) { return scripts_[variant]; }

  void take_seconds(const std::string& variant, double seconds) {
    scripts_[variant].seconds = [seconds](const FakeCall&) { return seconds; };
  }

  const record::DeviceInfo& info() const override { return info_; }
  record::DeviceState state() override { return {}; }
  std::optional<double> energy_j() override {
    return watts.empty() ? std::nullopt : std::optional(counter_j_);
  }
  std::span<const record::LaunchMode> launch_modes() const override { return modes; }
  std::unique_ptr<device::Workload> upload(const device::Work& work,
                                           device::UploadPurpose purpose) override;
  record::Ceilings measure_ceilings() override {
    return {.copy_bytes = 1 << 20,
            .copy_bytes_per_s = 1e9,
            .write_bytes = 1 << 20,
            .write_bytes_per_s = 2e9,
            .event_overhead_s = 1e-6,
            .launch_overhead_s = 2e-6};
  }

  // What a test may set.
  std::vector<record::LaunchMode> modes = {record::LaunchMode::kGraph, record::LaunchMode::kStream};
  double flops = 0.0;                    // of a call
  double change_s = 0.0;                 // that a change of the inputs takes
  std::vector<operation::Probe> probes;  // of the operation
  int buffer_sets = 1;                   // of workloads uploaded for timing
  std::optional<double> clock_hz;        // SM clock that samples report
  std::map<std::string, double> watts;   // of each variant at work; empty: there is no counter
  bool is_broken = false;                // every call throws from now on
  record::DeviceInfo& mutable_info() { return info_; }
  std::function<void(const FakeCall&)> on_call;  // before each verification and sample

  // What a test may look at.
  std::vector<FakeCall> calls;
  std::vector<device::ContentChange> changes;
  double now_s = 0.0;
  int workloads_alive = 0;
  int most_workloads_alive = 0;
  std::size_t expected_bytes = 0;  // of both outputs that the last judged sample was held to

  std::vector<FakeCall> calls_of(FakeCall::Kind kind) const {
    std::vector<FakeCall> found;
    std::ranges::copy_if(calls, std::back_inserter(found),
                         [&](const FakeCall& call) { return call.kind == kind; });
    return found;
  }

 private:
  friend class FakeWorkload;

  kernels::Variant make_variant(const std::string& name) {
    names_.push_back(name);
    kernels::Variant variant;
    variant.name = names_.back().c_str();
    variant.summary = "does what the script says";
    return variant;
  }

  // Logs `call` and throws what is scripted for it.
  FakeScript& begin(FakeCall& call);

  // Moves the clock by the work of a variant. The counter of energy follows in steps.
  void work(const std::string& variant, double seconds) {
    constexpr double kStep_s = 0.1;
    const double power_w = watts.contains(variant) ? watts.at(variant) : 0.0;
    const double last_step_s = kStep_s * std::floor((now_s + seconds) / kStep_s);
    if (last_step_s > now_s) counter_j_ = energy_j_ + power_w * (last_step_s - now_s);
    now_s += seconds;
    energy_j_ += power_w * seconds;
  }

  record::DeviceInfo info_;
  double energy_j_ = 0.0;          // that was taken
  double counter_j_ = 0.0;         // what the counter shows of it
  std::deque<std::string> names_;  // what Variant::name points to
  kernels::Catalog catalog_;
  std::map<std::string, FakeScript> scripts_;
  std::map<std::pair<FakeCall::Kind, std::string>, std::int64_t> counts_;
};

class FakeWorkload final : public device::Workload {
 public:
  FakeWorkload(FakeDevice& device, const device::Work& work, device::UploadPurpose purpose)
      : device_(device), work_(work), purpose_(purpose) {
    device_.most_workloads_alive =
        std::max(device_.most_workloads_alive, ++device_.workloads_alive);
  }
  ~FakeWorkload() override { --device_.workloads_alive; }
  FakeWorkload(const FakeWorkload&) = delete;
  FakeWorkload& operator=(const FakeWorkload&) = delete;

  std::string unsupported(const kernels::Variant& variant) const override {
    return device_.script(variant.name).unsupported;
  }
  int buffer_sets() const override {
    return purpose_ == device::UploadPurpose::kTime ? device_.buffer_sets : 1;
  }

  void replace_input(std::size_t, std::span<const std::byte>) override {}
  void change(device::ContentChange change) override;
  void forget_references() override {}

  // Judges as a real device does; a scripted mismatch is a flipped bit in the last element.
  record::Verification verify(const kernels::Variant& variant,
                              std::span<const std::byte> expected) override {
    FakeCall call = new_call(FakeCall::Kind::kVerify, variant);
    const FakeScript& script = device_.begin(call);
    std::vector<std::byte> actual(expected.begin(), expected.end());
    if (script.is_wrong && script.is_wrong(call)) {
      actual[actual.size() - nf4::size_in_bytes(work_.problem.output_type)] ^= std::byte{1};
    }
    verified_ = actual;
    return work_.judge.on_host(expected, actual);
  }
  std::vector<std::byte> verified_output() override { return verified_; }

  std::vector<std::byte> output_of(const kernels::Variant& variant) override {
    FakeCall call = new_call(FakeCall::Kind::kVerify, variant);
    device_.begin(call);
    return std::vector<std::byte>(static_cast<std::size_t>(work_.output_bytes));
  }

  device::Sample sample(const kernels::Variant& variant, const device::SampleSpec& spec) override {
    FakeCall call = new_call(FakeCall::Kind::kSample, variant);
    call.spec = spec;
    return take(call);
  }

  device::JudgedSample judged_sample(const kernels::Variant& variant,
                                     const device::SampleSpec& spec,
                                     const device::Expected& expected) override {
    FakeCall call = new_call(FakeCall::Kind::kSample, variant);
    call.spec = spec;
    call.is_judged = true;
    device_.expected_bytes = expected.own.size() + expected.sibling.size();
    const device::Sample sample = take(call);
    return {sample, fault_of(call)};
  }

  void repeat(const kernels::Variant& variant, const device::SampleSpec& spec, int times) override {
    FakeCall call = new_call(FakeCall::Kind::kRepeat, variant);
    call.spec = spec;
    for (int i = 0; i < times; ++i) take(call);
  }

  void profile(const kernels::Variant& variant) override {
    repeat(variant, {.cache = record::CacheMode::kHot, .launch = record::LaunchMode::kStream}, 1);
  }

  std::optional<device::OutputFault> check(const kernels::Variant& variant,
                                           const device::SampleSpec& spec,
                                           const device::Expected&) override {
    FakeCall call = new_call(FakeCall::Kind::kCheck, variant);
    call.spec = spec;
    device_.begin(call);
    return fault_of(call);
  }

 private:
  device::Sample take(FakeCall& call) {
    const FakeScript& script = device_.begin(call);
    const double seconds = script.seconds ? script.seconds(call) : 1e-5;
    device_.work(call.variant, seconds * call.spec.launches);
    return {seconds, device_.clock_hz};
  }

  std::optional<device::OutputFault> fault_of(const FakeCall& call) {
    const FakeScript& script = device_.script(call.variant);
    return script.fault ? script.fault(call) : std::nullopt;
  }

  FakeCall new_call(FakeCall::Kind kind, const kernels::Variant& variant) const {
    return {.kind = kind,
            .tensor = work_.name,
            .variant = variant.name,
            .type = work_.problem.output_type,
            .purpose = purpose_,
            .at_s = device_.now_s};
  }

  FakeDevice& device_;
  device::Work work_;
  device::UploadPurpose purpose_;
  std::vector<std::byte> verified_;
};

inline std::unique_ptr<device::Workload> FakeDevice::upload(const device::Work& work,
                                                            device::UploadPurpose purpose) {
  FakeCall call{.kind = FakeCall::Kind::kUpload,
                .tensor = work.name,
                .type = work.problem.output_type,
                .purpose = purpose,
                .at_s = now_s};
  begin(call);
  return std::make_unique<FakeWorkload>(*this, work, purpose);
}

inline void FakeWorkload::change(device::ContentChange change) {
  FakeCall call{.kind = FakeCall::Kind::kChange,
                .tensor = work_.name,
                .type = work_.problem.output_type,
                .purpose = purpose_,
                .at_s = device_.now_s};
  device_.begin(call);
  device_.changes.push_back(std::move(change));
  device_.now_s += device_.change_s;
}

inline FakeScript& FakeDevice::begin(FakeCall& call) {
  call.nth = counts_[{call.kind, call.variant}]++;
  calls.push_back(call);
  if (on_call) on_call(call);
  if (is_broken) throw Error(ErrorKind::kDevice, "the fake device is broken");
  FakeScript& script = scripts_[call.variant];
  const std::string error = script.device_error ? script.device_error(call) : "";
  if (!error.empty()) throw Error(ErrorKind::kDevice, error);
  return script;
}

}  // namespace nf4bench
