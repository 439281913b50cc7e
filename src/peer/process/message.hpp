#pragma once

// What a peer's process and the one that started it say to each other: both are this program, so
// that plain data goes as it lies in memory.

#include "variant.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace nf4bench::peer {

// The file descriptors that a peer's process begins with, besides its standard streams.
inline constexpr int kSocket = 3;
inline constexpr int kInputs = 4;   // of SharedArenas, to be read alone
inline constexpr int kOutputs = 5;  // the same, to be written, too

// What is wanted of a peer's process, in front of a message.
enum class Request : std::uint32_t {
  kLoad,
  kAsk,
  kPrepare,
  kLaunch,
  kHear,           // of buffers that are new: no call is to pay for that
  kLetGo,          // of a block that is about to be released
  kPrepareSample,  // the calls of a workload are to be timed: all that there are
  kSample,         // some of them
  kRepeat,
};

// What an answer begins with.
enum class Answer : std::uint32_t {
  kDone,
  kError,  // of this request; what follows is why
  kLast,   // the process is about to die; what follows is why
};

inline constexpr std::uint32_t kMostMessageBytes = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kMostAnswerBytes = std::uint32_t{16} << 20;

// A message in the making: its length, then what was added.
class MessageWriter {
 public:
  MessageWriter() { add(std::uint32_t{0}); }

  template <class T>
  MessageWriter& add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  MessageWriter& add(const std::string& text) {
    add(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  template <class T>
  MessageWriter& add(const std::vector<T>& values) {
    add(static_cast<std::uint32_t>(values.size()));
    for (const T& each : values) add(each);
    return *this;
  }

  const std::string& finish() {
    const auto length = static_cast<std::uint32_t>(bytes_.size() - sizeof(std::uint32_t));
    std::memcpy(bytes_.data(), &length, sizeof(length));
    return bytes_;
  }

 private:
  std::string bytes_;
};

// A message without its length. Whoever sent it may be broken: what is missing reads as zeros and
// makes it bad.
class MessageReader {
 public:
  explicit MessageReader(std::string bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (take(sizeof(T)))
      std::memcpy(static_cast<void*>(&value), bytes_.data() + at_ - sizeof(T), sizeof(T));
    return value;
  }
  std::string text() {
    const auto size = get<std::uint32_t>();
    return take(size) ? bytes_.substr(at_ - size, size) : std::string();
  }
  template <class T>
  std::vector<T> all() {
    std::vector<T> values;
    for (auto left = get<std::uint32_t>(); left > 0 && !is_bad_; --left) values.push_back(get<T>());
    return values;
  }

  // All was read and nothing was missing.
  bool is_whole() const { return !is_bad_ && at_ == bytes_.size(); }

 private:
  bool take(std::size_t count) {
    is_bad_ = is_bad_ || count > bytes_.size() - at_;
    if (!is_bad_) at_ += count;
    return !is_bad_;
  }

  std::string bytes_;
  std::size_t at_ = 0;
  bool is_bad_ = false;
};

// Calls `change` with each pointer of a job, which returns what to put in its place. In messages
// that is a place in the shared buffers (SharedBuffers::place_of()).
template <class Change>
void change_addresses(kernels::Job& job, const Change& change) {
  const auto each = [&change](auto*& pointer) {
    using Pointer = std::remove_reference_t<decltype(pointer)>;
    pointer = std::bit_cast<Pointer>(change(std::bit_cast<std::uintptr_t>(pointer)));
  };
  each(job.packed);
  each(job.absmax);
  each(job.absmax_codes);
  each(job.nested_absmax);
  each(job.nested_map);
  each(job.nested_offset);
  each(job.input);
  each(job.bias);
  each(job.ids);
  each(job.slot_weights);
  each(job.output);
  each(job.workspace);
  each(job.prepared);
}

}  // namespace nf4bench::peer
