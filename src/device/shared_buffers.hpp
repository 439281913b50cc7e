#pragma once

// The buffers of a device as other processes can use them, from both sides.

#include "device/executor.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace nf4bench::device {

// How another process gets at them.
enum class Sharing : std::uint8_t {
  kFiles,    // it maps files that it has inherited: inputs to be read, outputs to be written, too
  kHandles,  // it opens handles of a GPU's allocations, one by one
};

// Another process that uses blocks of a device's memory.
class BlockUser {
 public:
  virtual ~BlockUser() = default;

  // The block is about to be released: that process has to let go of it first.
  virtual void let_go(std::uint64_t block) noexcept = 0;
};

// What this process says of them to others. In messages an address is a place: a number that is the
// same for all; 0 is null.
class SharedBuffers {
 public:
  virtual ~SharedBuffers() = default;

  virtual Sharing sharing() const = 0;

  // The files of Sharing::kFiles: inputs and outputs. -1: none.
  virtual std::array<int, 2> files() const { return {-1, -1}; }

  // What the device in another process is made of.
  virtual std::string introduction() const = 0;

  // What a process has to hear before it is given places. `known` is 0 at first and is brought up
  // to date: what it says is what that process has heard.
  virtual std::string news(std::uint64_t& known) const = 0;

  // Throws Error(kDevice) for what no process can reach.
  virtual std::uint64_t place_of(const void* address) const = 0;

  // Returns when what this process has begun to do with the buffers is done.
  virtual void settle() {}

  virtual void add_user(BlockUser&) {}
  virtual void remove_user(BlockUser&) noexcept {}
};

// A device as the process of a peer sees it: the buffers of another process, and calls on them.
// Errors are thrown as Error(kDevice).
class GuestDevice {
 public:
  virtual ~GuestDevice() = default;

  virtual void hear(const std::string& news) = 0;
  virtual void let_go(std::uint64_t block) = 0;
  virtual void* address_of(std::uint64_t place) const = 0;

  virtual CUstream_st* stream() const = 0;

  // Makes calls and returns once their work is done.
  virtual void run(const char* what, const std::function<void()>& calls) = 0;
  virtual void wait_for_others() = 0;

  // True when no call will ever work any more in this process.
  virtual bool is_broken() const = 0;

  // As CudaTiming has them, where samples are taken in this process.
  virtual void prepare(const Calls& calls, const SampleSpec& spec) = 0;
  virtual Sample take(const Calls& calls, const SampleSpec& spec, const CallRange& range,
                      const std::vector<OutputCopy>& copies) = 0;
  virtual double repeat(const Calls& calls, const SampleSpec& spec,
                        const std::vector<CallRange>& ranges) = 0;
  virtual void forget_calls() = 0;
};

// For Sharing::kHandles. In cuda_guest.cpp, or cuda_absent.cpp for builds without CUDA.
std::unique_ptr<GuestDevice> make_cuda_guest(const std::string& introduction);

// Plain data as it lies in memory: both processes are this program.
template <class T>
std::string raw_bytes(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// Value number `index` in `bytes`; zeros where there is none.
template <class T>
T value_in(const std::string& bytes, std::size_t index = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  if (bytes.size() / sizeof(T) > index) {
    std::memcpy(static_cast<void*>(&value), bytes.data() + index * sizeof(T), sizeof(T));
  }
  return value;
}

}  // namespace nf4bench::device
