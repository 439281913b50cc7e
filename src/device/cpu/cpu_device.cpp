// The CPU as a device: variants run on all cores, time is a steady clock.

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "catalog.hpp"
#include "cpu/simd_target.hpp"
#include "device/cpu/cpu_ceilings.hpp"
#include "device/cpu/cpu_facts.hpp"
#include "device/cpu/cpu_workload.hpp"
#include "device/devices.hpp"

#include <algorithm>

namespace nf4bench::device {
namespace {

CpuContext make_context(const DeviceOptions& options) {
  if (options.threads < 0) {
    throw Error(ErrorKind::kUsage, "the CPU device needs at least one thread (0 means all)");
  }
  CpuContext context;
  context.threads = options.threads > 0 ? options.threads : hardware_threads();
  context.config = options.config;
  context.info.kind = record::DeviceKind::kCpu;
  context.info.id = "cpu";
  context.info.name = cpu_name();
  context.info.multiprocessors = context.threads;
  context.info.l2_bytes = last_level_cache_bytes();
  context.info.memory_bytes = physical_memory_bytes();
  context.info.simd = kernels::cpu::simd_target();
  return context;
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const DeviceOptions& options) : context_(make_context(options)) {}

  const record::DeviceInfo& info() const override { return context_.info; }

  record::DeviceState state() override {
    record::DeviceState state;
    state.unavailable = "clocks, power and temperature are read on CUDA devices only";
    return state;
  }

  const std::vector<kernels::Variant>& variants() const override { return kernels::cpu_variants(); }

  const std::vector<kernels::Variant>& stream_shapes() const override {
    static const std::vector<kernels::Variant> none;
    return none;
  }

  std::span<const record::LaunchMode> launch_modes() const override {
    static constexpr record::LaunchMode kModes[] = {record::LaunchMode::kStream};
    return kModes;
  }

  std::unique_ptr<Workload> upload(const nf4::Nf4Tensor& tensor, nf4::OutputType type,
                                   UploadPurpose purpose) override {
    return make_cpu_workload(context_, tensor, type, purpose);
  }

  record::Ceilings measure_ceilings() override {
    return measure_cpu_ceilings(context_.threads, context_.info.l2_bytes);
  }

 private:
  CpuContext context_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device(const DeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace nf4bench::device
