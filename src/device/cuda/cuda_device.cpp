#include "base/error.hpp"
#include "cuda/matmul/cublas.hpp"
#include "device/buffered_workload.hpp"
#include "device/cuda/cuda_executor.hpp"
#include "device/cuda/cuda_memory.hpp"
#include "device/cuda/cuda_resources.hpp"
#include "device/device.hpp"
#include "device/devices.hpp"
#include "device/memory.hpp"
#include "device/nvml/nvml.hpp"
#include "nf4/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::device {
namespace {

// What a large matrix product is measured with.
struct ProductBench {
  Memory& memory;
  std::byte* inputs = nullptr;  // both of `bytes` bytes, 64 MiB or more
  std::byte* output = nullptr;
  std::int64_t bytes = 0;
  CUstream_st* stream = nullptr;
  std::function<double(const std::function<void()>& work)> time;  // seconds of enqueued work
};

// Three matrices of this many rows and columns in 16 bits: two inputs, and an output beside what
// cuBLAS works with.
constexpr std::int64_t kLarge = 8192;
constexpr std::int64_t kSmall = 4096;
constexpr std::int64_t kWordBytes = 2;

constexpr std::int64_t matrix_bytes(std::int64_t size) {
  return size * size * kWordBytes;
}

// Numbers from 1 to 2 and their negatives.
std::vector<std::uint16_t> random_words(nf4::OutputType type) {
  constexpr std::size_t kWords = std::size_t{1} << 19;
  const bool is_float16 = type == nf4::OutputType::kFloat16;
  const unsigned one = is_float16 ? 0x3c00 : 0x3f80;
  const unsigned fraction = is_float16 ? 0x83ff : 0x807f;  // and sign
  std::mt19937 random(42);
  std::vector<std::uint16_t> words(kWords);
  for (std::uint16_t& word : words) word = static_cast<std::uint16_t>(one | (random() & fraction));
  return words;
}

void fill_inputs(const ProductBench& bench, nf4::OutputType type, std::int64_t bytes) {
  const std::vector<std::uint16_t> words = random_words(type);
  const auto piece = static_cast<std::int64_t>(words.size()) * kWordBytes;
  bench.memory.copy_in(bench.inputs, std::as_bytes(std::span(words)));
  for (std::int64_t done = piece; done < bytes; done += piece) {
    bench.memory.copy_within(bench.inputs + done, bench.inputs, std::min(piece, bytes - done));
  }
}

// Whether the product was written over the poison.
bool was_written(const ProductBench& bench) {
  std::uint16_t first = 0;
  bench.memory.copy_out(std::as_writable_bytes(std::span(&first, 1)), bench.output);
  std::uint16_t poison = 0;
  std::memset(&poison, kPoisonByte, sizeof(poison));
  return first != poison;
}

std::optional<double> rate_of(const ProductBench& bench, nf4::OutputType type) {
  const std::int64_t size = bench.bytes >= 2 * matrix_bytes(kLarge) ? kLarge : kSmall;
  const std::int64_t matrix = matrix_bytes(size);
  kernels::Job job;
  job.tokens = job.outputs = job.inputs = size;
  job.elements = size * size;
  job.output_type = type;
  job.input = bench.inputs + matrix;
  job.output = bench.output;
  const auto workspace = static_cast<std::int64_t>(kernels::cuda::kCublasWorkspace);
  if (bench.bytes < std::max(2 * matrix, matrix + workspace)) return std::nullopt;
  if (kernels::cuda::cublas_unsupported(job) != nullptr) return std::nullopt;
  fill_inputs(bench, type, 2 * matrix);
  bench.memory.fill(bench.output, kPoisonByte, matrix);
  const double seconds = bench.time([&] {
    kernels::cuda::multiply_by_cublas(job, bench.inputs, bench.output + matrix, bench.stream);
  });
  if (!was_written(bench) || seconds <= 0.0) return std::nullopt;
  return 2.0 * static_cast<double>(size) * static_cast<double>(job.elements) / seconds;
}

// Flops a second of a large product by cuBLAS, for each type that it can multiply here. Its inputs
// are random: what a multiplier draws, and so its clock, depends on the data.
std::map<nf4::OutputType, double> measure_product_rates(const ProductBench& bench) {
  std::map<nf4::OutputType, double> rates;
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    if (const std::optional<double> rate = rate_of(bench, type)) rates[type] = *rate;
  }
  return rates;
}

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, index), "read a device attribute");
  return value;
}

std::string uuid_string(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// Lets an older architecture stand in for the card's own, as code of that one that the driver
// compiles for this card. The name says it, so that no report passes for the card's.
void pretend(record::DeviceInfo& info) {
  const char* const told = std::getenv("NF4BENCH_COMPUTE_CAPABILITY");
  if (told == nullptr || *told == '\0') return;
  const int capability = std::atoi(told);
  if (capability < 75 || capability > info.compute_capability) {
    throw Error(ErrorKind::kUsage,
                "NF4BENCH_COMPUTE_CAPABILITY is \"{}\"; it takes 75 to {}, the compute capability "
                "of {} without its point",
                told, info.compute_capability, info.name);
  }
  info.name += fmt::format(" as compute capability {}.{}", capability / 10, capability % 10);
  info.card_capability = std::exchange(info.compute_capability, capability);
}

record::DeviceInfo describe(int index) {
  cudaDeviceProp properties = {};
  check_cuda(cudaGetDeviceProperties(&properties, index), "read the device's properties");
  std::array<char, 32> pci = {};
  check_cuda(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), index),
             "read the device's PCI id");
  int runtime = 0;
  check_cuda(cudaRuntimeGetVersion(&runtime), "read the runtime's version");
  record::DeviceInfo info;
  info.kind = record::DeviceKind::kCuda;
  info.id = fmt::format("cuda:{}", index);
  info.name = properties.name;
  info.compute_capability = 10 * properties.major + properties.minor;
  pretend(info);
  info.multiprocessors = properties.multiProcessorCount;
  info.l2_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.uuid = uuid_string(properties.uuid);
  info.pci_id = pci.data();
  info.runtime = cuda_version_text(runtime);
  const Nvml nvml(info.pci_id);
  info.driver = nvml.driver_version();
  info.ecc = nvml.ecc();
  info.mig = nvml.mig();
  // Two transfers a clock; kHz and bits. An instance of a partitioned GPU owns only a part of it.
  const double clock_hz = attribute(cudaDevAttrMemoryClockRate, index) * 1e3;
  const double width_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, index) / 8.0;
  if (clock_hz > 0 && width_bytes > 0 && !info.mig.value_or(false)) {
    info.peak_bytes_per_s = 2.0 * clock_hz * width_bytes;
  }
  return info;
}

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, const DeviceOptions& options)
      : context_(describe(index)), nvml_(context_.info.pci_id) {
    if (options.shares_buffers) share(index);
    context_.config = options.config;
    context_.caches_rotated =
        options.caches_rotated > 0 ? options.caches_rotated : default_rotation(context_.info.kind);
  }

  const record::DeviceInfo& info() const override { return context_.info; }
  record::DeviceState state() override { return nvml_.state(); }
  // The counter is that of the whole GPU, whatever instance of it this is.
  std::optional<double> energy_j() override {
    return context_.info.mig.value_or(false) ? std::nullopt : nvml_.energy_j();
  }
  std::span<const record::LaunchMode> launch_modes() const override {
    static constexpr std::array kModes = {record::LaunchMode::kGraph, record::LaunchMode::kStream,
                                          record::LaunchMode::kSpaced};
    return kModes;
  }
  std::unique_ptr<Workload> upload(const Work& work, UploadPurpose purpose) override {
    restore_l2_set_aside(context_.l2_set_aside);  // a library may change it as it is loaded
    // Verification alone leaves no slack, so that a memory checker sees every stray access.
    const bool is_alone = purpose == UploadPurpose::kVerify && shared_ == nullptr;
    const WorkloadPlan plan = {.purpose = purpose, .guard = is_alone ? 0 : kAlignment};
    return make_workload({.info = context_.info,
                          .config = context_.config,
                          .caches_rotated = context_.caches_rotated,
                          .memory = *memory_,
                          .stream = context_.stream.get()},
                         work, plan, make_cuda_executor(context_, *memory_));
  }
  record::Ceilings measure_ceilings() override;
  std::int64_t fitting_sets(std::int64_t wanted, std::int64_t set_bytes) override {
    return memory_->fitting_sets(wanted, set_bytes);
  }

  SharedBuffers* shared_buffers() override { return shared_.get(); }
  std::string why_not_shared() const override { return why_not_shared_; }

 private:
  // Median seconds of `work` between two events, over `repeats` runs after two warm-ups.
  template <class Work>
  double time(int repeats, Work work);

  void share(int index) {
    why_not_shared_ = device::why_not_shared(index);
    if (!why_not_shared_.empty()) return;
    shared_ = std::make_unique<CudaSharedBuffers>(index);
    memory_ = std::make_unique<CudaMemory>(context_.stream, shared_.get());
  }

  CudaContext context_;
  std::unique_ptr<CudaSharedBuffers> shared_;  // null: nobody else sees the buffers
  std::unique_ptr<CudaMemory> memory_ = std::make_unique<CudaMemory>(context_.stream);
  std::string why_not_shared_;
  Nvml nvml_;
};

template <class Work>
double CudaDevice::time(int repeats, Work work) {
  cudaStream_t stream = context_.stream.get();
  std::vector<double> samples;
  for (int i = -2; i < repeats; ++i) {
    kernels::cuda::launch_busy(30'000, stream);
    check_cuda(cudaEventRecord(context_.start.get(), stream), "record an event");
    work();
    check_cuda(cudaEventRecord(context_.stop.get(), stream), "record an event");
    check_cuda(cudaGetLastError(), "launch a ceiling's kernel");
    context_.stream.synchronize();
    if (i >= 0) samples.push_back(seconds_between(context_.start, context_.stop));
  }
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

record::Ceilings CudaDevice::measure_ceilings() {
  constexpr std::int64_t kMegabyte = 1 << 20;
  constexpr int kRepeats = 11;
  constexpr int kEmptyKernels = 100;
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "ask for free device memory");
  const std::int64_t bytes =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(free / 4) / kMegabyte, 64, 2048) *
      kMegabyte;
  const CudaBuffer source(bytes);
  const CudaBuffer target(bytes);
  cudaStream_t stream = context_.stream.get();
  check_cuda(cudaMemsetAsync(source.data(), 1, static_cast<std::size_t>(bytes), stream),
             "fill a buffer");
  const auto size = static_cast<std::size_t>(bytes);
  const double copy_s = std::min(
      time(kRepeats,
           [&] {
             check_cuda(cudaMemcpyAsync(target.data(), source.data(), size,
                                        cudaMemcpyDeviceToDevice, stream),
                        "copy on the device");
           }),
      time(kRepeats,
           [&] { kernels::cuda::launch_copy(source.data(), target.data(), bytes, stream); }));
  const double write_s = std::min(
      time(kRepeats,
           [&] { check_cuda(cudaMemsetAsync(target.data(), 2, size, stream), "fill a buffer"); }),
      time(kRepeats, [&] { kernels::cuda::launch_copy(nullptr, target.data(), bytes, stream); }));
  const CudaGraph empty(context_.stream, [&] {
    for (int i = 0; i < kEmptyKernels; ++i) kernels::cuda::launch_nothing(stream);
  });
  record::Ceilings ceilings;
  ceilings.copy_bytes = 2 * bytes;
  ceilings.copy_bytes_per_s = static_cast<double>(2 * bytes) / copy_s;
  ceilings.write_bytes = bytes;
  ceilings.write_bytes_per_s = static_cast<double>(bytes) / write_s;
  ceilings.event_overhead_s = time(101, [] {});
  ceilings.launch_overhead_s =
      time(kRepeats, [&] { empty.launch(context_.stream); }) / kEmptyKernels;
  ceilings.flops_per_s = measure_product_rates(
      {.memory = *memory_,
       .inputs = reinterpret_cast<std::byte*>(source.data()),
       .output = reinterpret_cast<std::byte*>(target.data()),
       .bytes = bytes,
       .stream = stream,
       .time = [this](const std::function<void()>& work) { return time(kRepeats, work); }});
  return ceilings;
}

// Both versions are asked for only now: neither question needs a device.
std::string why_no_device(cudaError_t status) {
  cudaGetLastError();
  CudaVersions versions;
  if (cudaDriverGetVersion(&versions.driver) != cudaSuccess) versions.driver = 0;
  if (cudaRuntimeGetVersion(&versions.runtime) != cudaSuccess) versions.runtime = 0;
  return explain_no_device(problem_of(status), versions);
}

}  // namespace

int cuda_device_count(std::string* problem) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    *problem = why_no_device(status);
    return 0;
  }
  if (count == 0) *problem = "the driver reports no CUDA device";
  return count;
}

record::DeviceInfo cuda_device_info(int index) {
  return describe(index);
}

std::unique_ptr<Device> open_cuda_device(int index, const DeviceOptions& options) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    throw Error(ErrorKind::kDevice, "no CUDA device: {}; --device cpu works anywhere",
                why_no_device(status == cudaSuccess ? cudaErrorNoDevice : status));
  }
  if (index >= count) {
    throw Error(ErrorKind::kDevice, "no device cuda:{}: there {} {} (cuda:0 to cuda:{})", index,
                count == 1 ? "is" : "are", count, count - 1);
  }
  check_cuda(cudaSetDevice(index), "select the device");
  return std::make_unique<CudaDevice>(index, options);
}

}  // namespace nf4bench::device
