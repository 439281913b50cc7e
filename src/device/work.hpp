#pragma once

// What a device is asked to hold and run, in terms of bytes: it knows no format and no operation.

#include "catalog.hpp"
#include "record/verification.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::device {

// What the inputs of a set of buffers hold: those of the work, or those of its sibling. That is a
// work of the same sizes and types whose every output differs, so that what was written for one set
// is wrong in another.
enum class Content : std::uint8_t { kOwn, kSibling };

constexpr Content opposite(Content content) {
  return content == Content::kOwn ? Content::kSibling : Content::kOwn;
}

// A buffer that calls read.
struct InputBuffer {
  std::span<const std::byte> content;    // borrowed until upload() returns; may be empty
  std::span<const std::byte> sibling{};  // the same of the sibling; empty: it has the same content
  bool rotates = true;                   // cold samples meet a copy of its own in each set
};

// Says whether outputs are right. `expected` may be a prefix of all that is written.
struct Judge {
  std::function<record::Verification(std::span<const std::byte> expected,
                                     std::span<const std::byte> actual)>
      on_host;
  std::int64_t expected_bytes = 0;           // for each value of an output
  kernels::DeviceJudge on_device = nullptr;  // null: outputs are copied to the host
  // What on_device() found that compared so many values.
  std::function<record::Verification(const kernels::DeviceVerdict& verdict, std::int64_t compared)>
      read_verdict{};
};

// What cold samples find in the cache, all of it somebody else's: lines that were stored and are
// yet to be written to memory, or lines that were only read.
enum class ForeignLines : std::uint8_t { kStored, kRead };

// One problem with the content of its buffers.
struct Work {
  std::string name;  // of the tensor, for messages
  kernels::Problem problem;
  std::vector<InputBuffer> inputs;
  std::int64_t output_bytes = 0;

  // The job of a set of buffers, `inputs` in the order above; no workspace yet.
  std::function<kernels::Job(std::span<std::byte* const> inputs, std::byte* output)> bind;

  // The same for a set that holds the sibling. Empty: there is none, and all sets hold the work.
  std::function<kernels::Job(std::span<std::byte* const> inputs, std::byte* output)> bind_sibling{};

  // Of a set's bytes those that a call touches, where it leaves most of them alone; 0: all.
  std::int64_t touched_bytes = 0;

  // What variants will prepare for each set, all of them together.
  std::int64_t prepared_bytes = 0;

  Judge judge;
  ForeignLines foreign_lines = ForeignLines::kStored;
};

}  // namespace nf4bench::device
