#include "device/cpu/shared_arena.hpp"

#include "base/error.hpp"
#include "base/memory.hpp"
#include "device/cpu/small_files.hpp"
#include "device/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace nf4bench::device {
namespace {

// Addresses are not used again before all is free, so that there are more of them than memory.
constexpr std::int64_t kAddressesAByte = 4;
constexpr std::int64_t kFewestAddresses = std::int64_t{64} << 20;

// Blocks of so many bytes give their memory back at once, smaller ones when all is free.
constexpr std::int64_t kLargeBlock = std::int64_t{1} << 20;

constexpr std::int64_t kPage = 4096;

[[noreturn]] void explain_failure(const char* what) {
  throw Error(ErrorKind::kDevice,
              "cannot {} memory for other processes: {}; --in-process runs peers in this one", what,
              std::strerror(errno));
}

}  // namespace

void use_usual_pages(void* mapped, std::int64_t bytes) {
  const std::string setting = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (setting.find("[always]") == std::string::npos) return;
  madvise(mapped, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
}

SharedArena::SharedArena(const char* name, OthersMay others)
    : file_(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!file_.is_open()) explain_failure("make");
  bytes_ = kAddressesAByte * usable_memory_bytes() / kPage * kPage;
  void* mapped = MAP_FAILED;
  for (; bytes_ >= kFewestAddresses; bytes_ = bytes_ / 2 / kPage * kPage) {
    if (ftruncate(file_.get(), bytes_) != 0) continue;
    mapped = mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
    if (mapped != MAP_FAILED) break;
  }
  if (mapped == MAP_FAILED) explain_failure("map");
  base_ = static_cast<std::byte*>(mapped);
  // What is mapped stays writable. Linux before 5.1 refuses the first of these seals.
  fcntl(file_.get(), F_ADD_SEALS,
        others == OthersMay::kRead ? F_SEAL_FUTURE_WRITE : F_SEAL_SHRINK | F_SEAL_GROW);
  use_usual_pages(mapped, bytes_);
}

SharedArena::~SharedArena() {
  munmap(base_, static_cast<std::size_t>(bytes_));
}

std::byte* SharedArena::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::int64_t taken = aligned_bytes(std::max<std::int64_t>(bytes, 1));
  if (taken > bytes_ - used_) {
    throw Error(ErrorKind::kDevice,
                "{} bytes are more than is left of the memory that is shared with peers; choose a "
                "smaller tensor, or --in-process",
                bytes);
  }
  std::byte* const block = base_ + used_;
  blocks_.emplace(block, bytes);
  used_ += taken;
  return block;
}

void SharedArena::release(std::byte* block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(block);
  const std::int64_t bytes = found->second;
  blocks_.erase(found);
  if (blocks_.empty()) {
    forget(0, used_);
    used_ = 0;
    ++beginnings_;
  } else if (bytes >= kLargeBlock) {
    forget(block - base_, block - base_ + bytes);
  }
}

// Gives whole pages back to the system; of a file that is sealed against writing all or none.
void SharedArena::forget(std::int64_t from, std::int64_t to) noexcept {
  from = (from + kPage - 1) / kPage * kPage;
  if (blocks_.empty()) to = (to + kPage - 1) / kPage * kPage;
  to = to / kPage * kPage;
  if (from >= to) return;
  const int hole =
      fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from);
  if (hole == 0 || !blocks_.empty()) return;
  const bool is_new = ftruncate(file_.get(), 0) == 0 && ftruncate(file_.get(), bytes_) == 0;
  static_cast<void>(is_new);  // it has been as large
}

std::int64_t SharedArena::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::uint64_t SharedArena::beginnings() const {
  const std::lock_guard lock(mutex_);
  return beginnings_;
}

std::string SharedArenas::introduction() const {
  return raw_bytes(inputs.bytes()) + raw_bytes(outputs.bytes());
}

std::string SharedArenas::news(std::uint64_t&) const {
  return raw_bytes(ArenaUse{inputs.used(), inputs.beginnings()}) +
         raw_bytes(ArenaUse{outputs.used(), outputs.beginnings()});
}

std::uint64_t SharedArenas::place_of(const void* address) const {
  if (address == nullptr) return 0;
  const auto* const place = static_cast<const std::byte*>(address);
  if (inputs.holds(place)) return static_cast<std::uint64_t>(place - inputs.base()) + 1;
  if (outputs.holds(place)) {
    return static_cast<std::uint64_t>(place - outputs.base()) + 1 + kOutputPlaces;
  }
  throw Error(ErrorKind::kDevice, "a buffer is not shared with the process of a peer");
}

}  // namespace nf4bench::device
