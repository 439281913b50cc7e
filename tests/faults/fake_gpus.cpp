// GPUs that are none: in a program that is linked with this, cuda:0 and on are the CPU device under
// other names. NF4BENCH_TEST_GPUS has a word for each of them that says how it fares; there is none
// without it. Takes the place of src/device/cuda, so that a whole program with several GPUs runs on
// any machine.

#include "base/error.hpp"
#include "base/text.hpp"
#include "catalog.hpp"
#include "device/devices.hpp"
#include "device/shared_buffers.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <utility>

namespace nf4bench::device {
namespace {

// What the words mean.
constexpr char kBroken[] = "broken";    // it cannot be asked for anything
constexpr char kLost[] = "lost";        // the first upload fails
constexpr char kStuck[] = "stuck";      // the first upload never ends
constexpr char kDeadly[] = "deadly";    // the first sample ends the process
constexpr char kShared[] = "shared";    // another process is there, too
constexpr char kCrowded[] = "crowded";  // takes a tenth longer for each other process of its parent

std::vector<std::string> words() {
  const char* const told = std::getenv("NF4BENCH_TEST_GPUS");
  std::istringstream text(told == nullptr ? "" : told);
  return {std::istream_iterator<std::string>(text), {}};
}

// Processes that this one's parent has, this one included.
std::size_t siblings() {
  const pid_t parent = getppid();
  std::ifstream file(fmt::format("/proc/{}/task/{}/children", parent, parent));
  const std::istream_iterator<std::string> first(file);
  return static_cast<std::size_t>(std::distance(first, std::istream_iterator<std::string>()));
}

class FakeWorkload final : public Workload {
 public:
  FakeWorkload(std::string word, std::unique_ptr<Workload> own)
      : word_(std::move(word)), own_(std::move(own)) {}

  std::string unsupported(const kernels::Variant& variant) const override {
    return own_->unsupported(variant);
  }
  int buffer_sets() const override { return own_->buffer_sets(); }
  void replace_input(std::size_t index, std::span<const std::byte> content) override {
    own_->replace_input(index, content);
  }
  void change(ContentChange change) override { own_->change(std::move(change)); }
  void forget_references() override { own_->forget_references(); }
  record::Verification verify(const kernels::Variant& variant,
                              std::span<const std::byte> expected) override {
    return own_->verify(variant, expected);
  }
  std::vector<std::byte> verified_output() override { return own_->verified_output(); }
  std::vector<std::byte> output_of(const kernels::Variant& variant) override {
    return own_->output_of(variant);
  }
  Sample sample(const kernels::Variant& variant, const SampleSpec& spec) override {
    return fared(own_->sample(variant, spec));
  }
  JudgedSample judged_sample(const kernels::Variant& variant, const SampleSpec& spec,
                             const Expected& expected) override {
    JudgedSample judged = own_->judged_sample(variant, spec, expected);
    judged.sample = fared(judged.sample);
    return judged;
  }
  void repeat(const kernels::Variant& variant, const SampleSpec& spec, int times) override {
    own_->repeat(variant, spec, times);
  }
  void profile(const kernels::Variant& variant) override { own_->profile(variant); }
  std::optional<OutputFault> check(const kernels::Variant& variant, const SampleSpec& spec,
                                   const Expected& expected) override {
    return own_->check(variant, spec, expected);
  }

 private:
  Sample fared(Sample sample) const {
    if (word_ == kDeadly) std::raise(SIGSEGV);
    if (word_ == kCrowded) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      sample.seconds = 1e-3 * (1.0 + 0.1 * static_cast<double>(siblings() - 1));
    }
    return sample;
  }

  std::string word_;
  std::unique_ptr<Workload> own_;
};

class FakeGpu final : public Device {
 public:
  FakeGpu(int index, const DeviceOptions& options)
      : word_(words().at(static_cast<std::size_t>(index))),
        info_(cuda_device_info(index)),
        cpu_(open_cpu_device(options)) {}

  const record::DeviceInfo& info() const override { return info_; }
  record::DeviceState state() override {
    record::DeviceState state;
    state.other_processes = word_ == kShared ? 1 : 0;
    return state;
  }
  // 100 W, all the time.
  std::optional<double> energy_j() override {
    const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
    return 100.0 * now.count();
  }
  std::span<const record::LaunchMode> launch_modes() const override { return cpu_->launch_modes(); }
  std::unique_ptr<Workload> upload(const Work& work, UploadPurpose purpose) override {
    if (word_ == kLost) throw Error(ErrorKind::kDevice, "the GPU has fallen off the bus");
    while (word_ == kStuck) std::this_thread::sleep_for(std::chrono::hours(1));
    return std::make_unique<FakeWorkload>(word_, cpu_->upload(work, purpose));
  }
  record::Ceilings measure_ceilings() override { return cpu_->measure_ceilings(); }

 private:
  std::string word_;
  record::DeviceInfo info_;
  std::unique_ptr<Device> cpu_;
};

}  // namespace

int cuda_device_count(std::string* problem) {
  const auto count = static_cast<int>(words().size());
  if (count == 0) *problem = "the driver reports no CUDA device";
  return count;
}

record::DeviceInfo cuda_device_info(int index) {
  const std::vector<std::string> all = words();
  const auto place = static_cast<std::size_t>(index);
  if (place >= all.size() || all[place] == kBroken)
    throw Error(ErrorKind::kDevice, "the device cannot be described");
  record::DeviceInfo info = open_cpu_device({})->info();
  info.kind = record::DeviceKind::kCuda;
  info.id = fmt::format("cuda:{}", index);
  info.name = "Fake GPU";
  info.compute_capability = 90;
  info.uuid = fmt::format("GPU-0000000{}-0000-0000-0000-000000000000", index);
  info.pci_id = fmt::format("0000:{}b:00.0", index);
  return info;
}

std::unique_ptr<Device> open_cuda_device(int index, const DeviceOptions& options) {
  return std::make_unique<FakeGpu>(index, options);
}

// Peers of these work in this process.
std::unique_ptr<GuestDevice> make_cuda_guest(const std::string&) {
  throw Error(ErrorKind::kDevice, "the fake GPU shares nothing");
}

}  // namespace nf4bench::device

namespace nf4bench::kernels::cuda {

const Catalog& dequantize() {
  return cpu::dequantize();
}

const Catalog& matmul() {
  return cpu::matmul();
}

const Catalog& experts() {
  return cpu::experts();
}

const Catalog& backward() {
  return cpu::backward();
}

}  // namespace nf4bench::kernels::cuda
