#include "device/cpu/cpu_memory.hpp"

#include "base/parallel.hpp"
#include "cpu/stream_memory.hpp"
#include "device/cpu/cpu_facts.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

namespace nf4bench::device {
namespace {

constexpr std::align_val_t kBufferAlignment{kAlignment};

// Bytes that a thread fills at a time.
constexpr std::int64_t kFillGrain = std::int64_t{1} << 20;

// Memory that a set takes besides its content: guards, alignment and bookkeeping. Of a tensor of a
// few elements this is nearly all.
constexpr std::int64_t kSetOverhead = 12 << 10;

// Sets of tiny tensors stop here, though the largest caches could hold more of them.
constexpr std::int64_t kMostMemoryOfTinySets = std::int64_t{2} << 30;

// Sets up to this size are not rotated through more memory than the caches have: that would take
// thousands of sets, and more memory and time than all else in a run. They are evicted instead.
constexpr std::int64_t kTinySet = 64 << 10;

// Memory that a rotation of them takes. Several times what the tables of pages that processors keep
// can hold, because in a model such a tensor's pages are not found there either; and far more than
// a sample of 100 us touches.
constexpr std::int64_t kTinyRotation = 64 << 20;

// More is not evicted between samples.
constexpr std::int64_t kMostEvicted = 96 << 20;

// The host's memory, whichever part of it holds the buffers.
class HostMemory : public CpuMemory {
 public:
  std::byte* allocate(std::int64_t bytes, Access access) override {
    std::byte* const block = place(bytes, access);
    const std::lock_guard lock(mutex_);
    blocks_.emplace(block, bytes);
    bytes_ += bytes;
    return block;
  }

  void release(std::byte* block) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      const auto found = blocks_.find(block);
      bytes_ -= found->second;
      blocks_.erase(found);
    }
    give_back(block);
  }

  bool can_evict_all() const override {
    const std::lock_guard lock(mutex_);
    return kernels::cpu::can_evict() && bytes_ <= kMostEvicted;
  }

  void evict_all() const override {
    const std::lock_guard lock(mutex_);
    for (const auto& [block, bytes] : blocks_) {
      kernels::cpu::evict(block, static_cast<std::size_t>(bytes));
    }
  }

  void copy_in(std::byte* to, std::span<const std::byte> from) override {
    std::ranges::copy(from, to);  // of no bytes, memcpy wants an address, too
  }

  void copy_out(std::span<std::byte> to, const std::byte* from) override {
    std::copy_n(from, to.size(), to.data());
  }

  void copy_within(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  void fill(std::byte* to, unsigned char value, std::int64_t bytes) override {
    parallel_for(bytes, kFillGrain, [to, value](std::int64_t first, std::int64_t last) {
      std::memset(to + first, value, static_cast<std::size_t>(last - first));
    });
  }

  bool equal(std::span<std::byte* const> places, const std::byte* original,
             std::int64_t bytes) override {
    return std::ranges::all_of(
        places, [&](const std::byte* place) { return std::equal(place, place + bytes, original); });
  }

  void evict(const std::byte* block, std::int64_t bytes) override {
    kernels::cpu::evict(block, static_cast<std::size_t>(bytes));
  }

  void lay_poison(std::span<std::byte* const> outputs, std::int64_t bytes,
                  const PoisonPattern& pattern) override {
    for (std::byte* const output : outputs) {
      if (pattern.stride == kPoisonPiece) {
        fill(output, kPoisonByte, bytes);
        continue;
      }
      for (std::int64_t at = pattern.first; at < bytes; at += pattern.stride) {
        const std::int64_t piece = std::min(kPoisonPiece, bytes - at);
        std::memset(output + at, kPoisonByte, static_cast<std::size_t>(piece));
      }
    }
  }

  // Within half of the memory that is free, and less for tiny sets.
  std::int64_t fitting_sets(std::int64_t wanted, std::int64_t set_bytes) override {
    if (set_bytes <= kTinySet && kernels::cpu::can_evict()) {
      wanted = std::min(wanted, kTinyRotation / (set_bytes + kSetOverhead));
    }
    const std::int64_t memory = std::min(available_memory_bytes() / 2,
                                         std::max(kMostMemoryOfTinySets, 2 * wanted * set_bytes));
    return std::clamp<std::int64_t>(memory / (set_bytes + kSetOverhead), 0, wanted);
  }

  Layout layout() const override { return Layout::kApart; }

 protected:
  virtual std::byte* place(std::int64_t bytes, Access access) = 0;
  virtual void give_back(std::byte* block) noexcept = 0;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::byte*, std::int64_t> blocks_;  // with their sizes
  std::int64_t bytes_ = 0;
};

class PrivateMemory final : public HostMemory {
 protected:
  std::byte* place(std::int64_t bytes, Access) override {
    return static_cast<std::byte*>(
        ::operator new(static_cast<std::size_t>(bytes), kBufferAlignment));
  }
  void give_back(std::byte* block) noexcept override { ::operator delete(block, kBufferAlignment); }
};

class SharedMemory final : public HostMemory {
 public:
  explicit SharedMemory(SharedArenas& buffers) : buffers_(buffers) {}

 protected:
  std::byte* place(std::int64_t bytes, Access access) override {
    return (access == Access::kRead ? buffers_.inputs : buffers_.outputs).allocate(bytes);
  }
  void give_back(std::byte* block) noexcept override {
    (buffers_.inputs.holds(block) ? buffers_.inputs : buffers_.outputs).release(block);
  }

 private:
  SharedArenas& buffers_;
};

}  // namespace

CpuMemory& cpu_memory() {
  static PrivateMemory memory;
  return memory;
}

std::unique_ptr<CpuMemory> shared_cpu_memory(SharedArenas& buffers) {
  return std::make_unique<SharedMemory>(buffers);
}

}  // namespace nf4bench::device
