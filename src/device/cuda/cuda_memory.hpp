#pragma once

#include "device/cuda/cuda_resources.hpp"
#include "device/cuda/cuda_shared_buffers.hpp"
#include "device/memory.hpp"

namespace nf4bench::device {

// The memory of the current CUDA device. Copies and fills are enqueued on `stream`, which outlives
// this object; copy_out() waits for them.
class CudaMemory final : public Memory {
 public:
  // Other processes can use what is allocated, if there are `shared` buffers, which outlive it.
  explicit CudaMemory(const CudaStream& stream, CudaSharedBuffers* shared = nullptr)
      : stream_(stream), shared_(shared) {}

  std::byte* allocate(std::int64_t bytes, Access access) override;
  void release(std::byte* block) noexcept override;
  void copy_in(std::byte* to, std::span<const std::byte> from) override;
  void copy_out(std::span<std::byte> to, const std::byte* from) override;
  void copy_within(std::byte* to, const std::byte* from, std::int64_t bytes) override;
  void fill(std::byte* to, unsigned char value, std::int64_t bytes) override;
  bool equal(std::span<std::byte* const> places, const std::byte* original,
             std::int64_t bytes) override;
  void evict(const std::byte*, std::int64_t) override {}  // cold graphs begin behind a fill
  void lay_poison(std::span<std::byte* const> outputs, std::int64_t bytes,
                  const PoisonPattern& pattern) override;
  std::int64_t fitting_sets(std::int64_t wanted, std::int64_t set_bytes) override;
  Layout layout() const override { return Layout::kSlab; }

 private:
  const CudaStream& stream_;
  CudaSharedBuffers* shared_;
  CudaBuffer poisoned_;  // the list of outputs that lay_poison() was given
};

}  // namespace nf4bench::device
