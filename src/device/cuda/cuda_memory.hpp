#pragma once

#include "device/cuda/cuda_resources.hpp"
#include "device/memory.hpp"
#include "device/shared_buffers.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nf4bench::device {

// A block as another process opens it.
struct SharedBlock {
  std::uint64_t id = 0;  // from 1 on; a block that is gone has left its number behind
  std::int64_t bytes = 0;
  cudaIpcMemHandle_t handle{};
};

// A place is the number of a block, and how far into it.
inline constexpr int kOffsetBits = 42;

// Blocks of the current device's memory that other processes can open. CUDA shares whole blocks of
// 2 MiB and more, of which cudaMalloc() may make several allocations: each block here is a multiple
// of that, so that nothing else lies in what a peer sees.
class CudaSharedBuffers final : public SharedBuffers {
 public:
  // Of device number `index`. Throws Error(kDevice) when its memory cannot be shared.
  explicit CudaSharedBuffers(int index);
  CudaSharedBuffers(const CudaSharedBuffers&) = delete;
  CudaSharedBuffers& operator=(const CudaSharedBuffers&) = delete;
  ~CudaSharedBuffers() override;

  std::byte* allocate(std::int64_t bytes);
  bool holds(const std::byte* block) const { return blocks_.contains(block); }
  // Whoever uses the block closes it first: what happens otherwise is not defined.
  void release(std::byte* block) noexcept;

  Sharing sharing() const override { return Sharing::kHandles; }
  std::string introduction() const override { return raw_bytes(index_); }
  std::string news(std::uint64_t& known) const override;
  std::uint64_t place_of(const void* address) const override;
  void settle() override;
  void add_user(BlockUser& user) override { users_.push_back(&user); }
  void remove_user(BlockUser& user) noexcept override { std::erase(users_, &user); }

 private:
  int index_;
  std::uint64_t last_id_ = 0;
  std::map<const std::byte*, SharedBlock> blocks_;  // by where they begin
  std::vector<BlockUser*> users_;
  std::byte* probe_ = nullptr;  // a block that is always there: whether it opens tells soon
};

// Why buffers of device number `index` cannot be used by other processes; empty when they can, as
// far as one process can tell.
std::string why_not_shared(int index);

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
