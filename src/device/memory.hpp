#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace nf4bench::device {

// Where a buffer begins is a multiple of this.
inline constexpr std::int64_t kAlignment = 256;

// `bytes` rounded up to where the next buffer may begin.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Outputs are filled with this byte before a variant runs. No weight has such a value, and it is no
// NaN, so that an element left unwritten never passes for a decoded one.
inline constexpr unsigned char kPoisonByte = 0xeb;

// Where poison is laid in an output: in pieces of kPoisonPiece bytes, at `first` and every `stride`
// bytes from there, as far as the output goes. Both are multiples of kPoisonPiece.
inline constexpr std::int64_t kPoisonPiece = 32;
struct PoisonPattern {
  std::int64_t first = 0;
  std::int64_t stride = kPoisonPiece;  // as it stands: everywhere
};

// One piece in some 16 to 32 of an output of `bytes`, in more of a small one, drawn from `random`:
// so that no stretch of a kilobyte can be left as it is, and nobody knows where.
PoisonPattern strewn_poison(std::int64_t bytes, std::mt19937_64& random);

// True when all of `bytes` are poison.
bool is_poison(std::span<const std::byte> bytes);

// How the sets of a rotation lie in memory.
enum class Layout : std::uint8_t {
  kApart,  // each buffer is an allocation of its own
  kSlab,   // one allocation holds all sets but the first
};

// What variants may do with a block; kPrivate: they never see it. A device whose memory other
// processes share keeps them apart.
enum class Access : std::uint8_t { kRead, kWrite, kPrivate };

// The memory of a device. Errors are thrown as Error(kDevice). Copies and fills may go on after the
// call; what reads their result through this class or runs after them meets it finished.
class Memory {
 public:
  virtual ~Memory() = default;

  // Aligned, contents undefined; `bytes` is positive.
  virtual std::byte* allocate(std::int64_t bytes, Access access) = 0;
  virtual void release(std::byte* block) noexcept = 0;

  virtual void copy_in(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void copy_out(std::span<std::byte> to, const std::byte* from) = 0;
  virtual void copy_within(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  virtual void fill(std::byte* to, unsigned char value, std::int64_t bytes) = 0;

  // Whether `bytes` at each of `places` are those at `original`, but for a last piece of less than
  // four bytes and for numbers that are none, which are all alike.
  virtual bool equal(std::span<std::byte* const> places, const std::byte* original,
                     std::int64_t bytes) = 0;

  // Takes a block out of the caches, where cold samples count on memory alone to be cold.
  virtual void evict(const std::byte* block, std::int64_t bytes) = 0;

  // Lays poison over each of `outputs`, of `bytes` bytes.
  virtual void lay_poison(std::span<std::byte* const> outputs, std::int64_t bytes,
                          const PoisonPattern& pattern) = 0;

  // How many of `wanted` sets of buffers may be had, besides the one that is there already;
  // `set_bytes` are the content of one.
  virtual std::int64_t fitting_sets(std::int64_t wanted, std::int64_t set_bytes) = 0;

  virtual Layout layout() const = 0;
};

// A block of a device's memory.
class Buffer {
 public:
  Buffer() = default;
  // Null when `bytes` is 0.
  Buffer(Memory& memory, std::int64_t bytes, Access access)
      : memory_(&memory),
        data_(bytes > 0 ? memory.allocate(bytes, access) : nullptr),
        bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) memory_->release(data_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Memory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// A buffer that variants write: it ends exactly where its content does, or lies between guard bytes
// that nobody may write.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  // `guard` is a multiple of the alignment, or 0.
  GuardedBuffer(Memory& memory, std::int64_t bytes, std::int64_t guard)
      : memory_(&memory),
        block_(memory, bytes + 2 * guard, Access::kWrite),
        bytes_(bytes),
        guard_(guard) {}

  std::byte* data() const { return block_.data() == nullptr ? nullptr : block_.data() + guard_; }
  std::int64_t bytes() const { return bytes_; }

  // Fills content and guards with the poison byte.
  void poison() const;

  // Throws Error(kDevice) naming `what` when a guard byte is no longer what poison() left there.
  // The work that might have written it has completed. Of a buffer that is larger than needed,
  // `used` bytes are content and the guard is behind them.
  void check_guards(const char* what, std::int64_t used) const;

 private:
  bool is_intact(const std::byte* first) const;

  Memory* memory_ = nullptr;
  Buffer block_;
  std::int64_t bytes_ = 0;
  std::int64_t guard_ = 0;
};

}  // namespace nf4bench::device
