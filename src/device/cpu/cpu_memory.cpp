#include "device/cpu/cpu_memory.hpp"

#include "base/parallel.hpp"
#include "device/cpu/cpu_facts.hpp"

#include <algorithm>
#include <cstring>
#include <new>

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

class CpuMemory final : public Memory {
 public:
  std::byte* allocate(std::int64_t bytes) override {
    return static_cast<std::byte*>(
        ::operator new(static_cast<std::size_t>(bytes), kBufferAlignment));
  }

  void release(std::byte* block) noexcept override { ::operator delete(block, kBufferAlignment); }

  void copy_in(std::byte* to, std::span<const std::byte> from) override {
    std::memcpy(to, from.data(), from.size());
  }

  void copy_out(std::span<std::byte> to, const std::byte* from) override {
    std::memcpy(to.data(), from, to.size());
  }

  void copy_within(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  void fill(std::byte* to, unsigned char value, std::int64_t bytes) override {
    parallel_for(bytes, kFillGrain, [to, value](std::int64_t first, std::int64_t last) {
      std::memset(to + first, value, static_cast<std::size_t>(last - first));
    });
  }

  // Within half of the memory that is free, and less for tiny sets.
  std::int64_t fitting_sets(std::int64_t wanted, std::int64_t set_bytes) override {
    const std::int64_t memory = std::min(available_memory_bytes() / 2,
                                         std::max(kMostMemoryOfTinySets, 2 * wanted * set_bytes));
    return std::clamp<std::int64_t>(memory / (set_bytes + kSetOverhead), 0, wanted);
  }

  Layout layout() const override { return Layout::kApart; }
};

}  // namespace

Memory& cpu_memory() {
  static CpuMemory memory;
  return memory;
}

}  // namespace nf4bench::device
