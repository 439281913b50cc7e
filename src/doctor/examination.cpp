#include "doctor/examination.hpp"

#include "device/cpu/cpu_facts.hpp"
#include "device/cpu/small_files.hpp"
#include "device/nvml/nvml.hpp"

#include <chrono>
#include <thread>
#include <unistd.h>

namespace nf4bench::doctor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRestReadings = 3;
constexpr double kBetweenRestReadingsS = 0.2;

class Examination {
 public:
  Examination(device::Device& device, const ExaminationOptions& options,
              const std::atomic<bool>& interrupted)
      : device_(device), options_(options), interrupted_(interrupted) {
    facts_.device = device.info();
    facts_.architectures = options.architectures;
    facts_.kernel = device::first_line(options.root / "proc/sys/kernel/osrelease");
    facts_.cuda_problem = options.cuda_problem;
  }

  DoctorFacts run();

 private:
  void examine_gpu();
  void examine_cpu();
  void rest(double seconds) const;

  // Measures; `look` is called between samples.
  void measure(const std::function<void()>& look);

  device::Device& device_;
  const ExaminationOptions& options_;
  const std::atomic<bool>& interrupted_;
  DoctorFacts facts_;
};

void Examination::rest(double seconds) const {
  if (options_.on_progress) options_.on_progress(0.0, "watching the device do nothing");
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end && !interrupted_.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Examination::measure(const std::function<void()>& look) {
  AaOptions aa = options_.aa;
  aa.on_progress = [&](double done) {
    look();
    if (options_.on_progress) options_.on_progress(done, "measuring a variant against itself");
  };
  facts_.aa = run_against_itself(device_, aa, interrupted_);
}

void Examination::examine_gpu() {
  const device::Nvml nvml(facts_.device.pci_id);
  GpuConditions gpu;
  gpu.own_pid = static_cast<std::uint32_t>(getpid());
  facts_.driver = nvml.driver();
  facts_.counters = device::read_counter_access(options_.root);
  rest(options_.rest_s);
  for (int i = 0; i < kRestReadings; ++i) {
    if (i > 0) rest(std::min(options_.rest_s, kBetweenRestReadingsS));
    gpu.at_rest.push_back(nvml.reading());
  }
  gpu.before = nvml.condition();
  const auto started = Clock::now();
  measure([&] { gpu.at_work.push_back(nvml.reading()); });
  gpu.after = nvml.condition();
  gpu.worked_s = std::chrono::duration<double>(Clock::now() - started).count();
  facts_.gpu = std::move(gpu);
}

void Examination::examine_cpu() {
  const std::vector<int> processors = device::allowed_processors();
  CpuConditions cpu;
  cpu.threads = facts_.device.multiprocessors;
  cpu.setup = read_cpu_setup(options_.root, processors);
  cpu.rest_start = read_cpu(options_.root, processors);
  rest(options_.rest_s);
  cpu.rest_end = read_cpu(options_.root, processors);
  measure([&] { cpu.at_work.push_back(read_cpu(options_.root, processors)); });
  facts_.cpu = std::move(cpu);
  if (!facts_.cuda_problem.empty()) facts_.driver = device::Nvml("").driver();
}

DoctorFacts Examination::run() {
  if (facts_.device.kind == record::DeviceKind::kCuda) {
    examine_gpu();
  } else {
    examine_cpu();
  }
  return std::move(facts_);
}

}  // namespace

DoctorFacts examine(device::Device& device, const ExaminationOptions& options,
                    const std::atomic<bool>& interrupted) {
  return Examination(device, options, interrupted).run();
}

}  // namespace nf4bench::doctor
