// A CUDA device in the process of a peer: a context of its own, the buffers of the process that has
// started it.

#include "base/error.hpp"
#include "device/cuda/cuda_memory.hpp"
#include "device/cuda/cuda_resources.hpp"
#include "device/cuda/cuda_timing.hpp"
#include "device/devices.hpp"

#include <map>
#include <thread>

namespace nf4bench::device {
namespace {

// The description of a device that is the current one from now on.
record::DeviceInfo chosen(int index) {
  check_cuda(cudaSetDevice(index), "select the device");
  return cuda_device_info(index);
}

class CudaGuest final : public GuestDevice {
 public:
  explicit CudaGuest(int index) : context_(chosen(index)) {}
  CudaGuest(const CudaGuest&) = delete;
  CudaGuest& operator=(const CudaGuest&) = delete;
  ~CudaGuest() override {
    timing_.forget_addresses();
    for (const auto& [id, base] : opened_) cudaIpcCloseMemHandle(base);
  }

  void hear(const std::string& news) override {
    for (std::size_t i = 0; i < news.size() / sizeof(SharedBlock); ++i) {
      open(value_in<SharedBlock>(news, i));
    }
  }

  void let_go(std::uint64_t block) override {
    const auto found = opened_.find(block);
    if (found == opened_.end()) return;
    timing_.forget_addresses();
    void* const base = found->second;
    opened_.erase(found);
    check_cuda(cudaIpcCloseMemHandle(base), "close a block of memory");
  }

  void* address_of(std::uint64_t place) const override {
    if (place == 0) return nullptr;
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kOffsetBits) - 1;
    return static_cast<std::byte*>(opened_.at(place >> kOffsetBits)) + (place & kMask);
  }

  CUstream_st* stream() const override { return context_.stream.get(); }

  void run(const char* what, const std::function<void()>& calls) override {
    timing_.run(what, calls);
    wait_for_device();
  }

  // Of all streams, and of threads that are about to launch something.
  void wait_for_others() override {
    std::this_thread::sleep_for(kPatience);
    wait_for_device();
  }

  // An error that stays is one that the next call gives again.
  bool is_broken() const override {
    cudaGetLastError();
    return cudaDeviceSynchronize() != cudaSuccess;
  }

  void prepare(const Calls& calls, const SampleSpec& spec) override {
    timing_.prepare(calls, spec);
    wait_for_device();
  }

  Sample take(const Calls& calls, const SampleSpec& spec, const CallRange& range,
              const std::vector<OutputCopy>& copies) override {
    return timing_.take(calls, spec, range, [&] {
      for (const OutputCopy& copy : copies) {
        check_cuda(cudaMemcpyAsync(copy.to, copy.from, static_cast<std::size_t>(copy.bytes),
                                   cudaMemcpyDeviceToDevice, context_.stream.get()),
                   "copy an output");
      }
    });
  }

  double repeat(const Calls& calls, const SampleSpec& spec,
                const std::vector<CallRange>& ranges) override {
    const double seconds = timing_.repeat(calls, spec, ranges);
    wait_for_device();
    return seconds;
  }

  void forget_calls() override { timing_.forget_addresses(); }

 private:
  void open(const SharedBlock& block) {
    void* base = nullptr;
    const cudaError_t status =
        cudaIpcOpenMemHandle(&base, block.handle, cudaIpcMemLazyEnablePeerAccess);
    if (status != cudaSuccess) {
      cudaGetLastError();
      throw Error(ErrorKind::kDevice, "{}; --in-process runs peers in nf4bench's own process",
                  explain_failed_call("open the GPU's buffers in a process of its own",
                                      problem_of(status)));
    }
    opened_[block.id] = base;
  }

  CudaContext context_;
  CudaTiming timing_{context_};
  std::map<std::uint64_t, void*> opened_;  // blocks, by their numbers
};

}  // namespace

std::unique_ptr<GuestDevice> make_cuda_guest(const std::string& introduction) {
  return std::make_unique<CudaGuest>(value_in<int>(introduction));
}

}  // namespace nf4bench::device
