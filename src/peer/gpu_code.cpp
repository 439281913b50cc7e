#include "peer/gpu_code.hpp"

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>

namespace nf4bench::peer {
namespace {

// A fat binary: a header, followed by its entries. The layout is not documented, so whatever looks
// different is skipped.
constexpr std::uint32_t kFatbinMagic = 0xba55ed50;
constexpr std::size_t kAlignment = 8;
constexpr std::uint16_t kPtx = 1;
constexpr std::uint16_t kBinary = 2;

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // of all entries
};

struct Entry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint32_t unused[3];
  std::uint32_t architecture;
};

// False when `bytes` is too short.
template <class Value>
bool read_value(std::span<const std::byte> bytes, Value& value) {
  if (bytes.size() < sizeof(value)) return false;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return true;
}

struct FoundCode {
  std::set<int> binaries;
  std::set<int> ptx;
};

void read_entries(std::span<const std::byte> bytes, FoundCode& found) {
  Entry entry = {};
  while (read_value(bytes, entry)) {
    if (entry.kind == kBinary) found.binaries.insert(static_cast<int>(entry.architecture));
    if (entry.kind == kPtx) found.ptx.insert(static_cast<int>(entry.architecture));
    const std::uint64_t left = bytes.size();
    if (entry.header_bytes < sizeof(entry) || entry.header_bytes > left ||
        entry.bytes > left - entry.header_bytes) {
      return;
    }
    bytes = bytes.subspan(entry.header_bytes + entry.bytes);
  }
}

}  // namespace

// Machine code runs on devices of the same major version with the same or a higher minor version.
// PTX runs on all later devices.
bool GpuCode::may_run_on(int compute_capability) const {
  if (binaries.empty() && ptx.empty()) return true;
  const auto fits = [&](int architecture) {
    return architecture / 10 == compute_capability / 10 && architecture <= compute_capability;
  };
  return std::ranges::any_of(binaries, fits) || std::ranges::any_of(ptx, [&](int architecture) {
           return architecture <= compute_capability;
         });
}

GpuCode gpu_code_of(std::span<const std::byte> library) {
  FoundCode found;
  for (std::size_t at = 0; at + sizeof(Header) <= library.size(); at += kAlignment) {
    Header header = {};
    read_value(library.subspan(at), header);
    if (header.magic != kFatbinMagic || header.header_bytes < sizeof(header)) continue;
    const std::uint64_t left = library.size() - at;
    if (header.header_bytes > left || header.bytes > left - header.header_bytes) continue;
    read_entries(library.subspan(at + header.header_bytes, header.bytes), found);
  }
  return {.binaries = {found.binaries.begin(), found.binaries.end()},
          .ptx = {found.ptx.begin(), found.ptx.end()}};
}

void require_gpu_code(const std::string& path, int compute_capability) {
  if (compute_capability == 0) return;
  const std::string bytes = text_in(path);
  const GpuCode code = gpu_code_of(std::as_bytes(std::span(bytes)));
  if (code.may_run_on(compute_capability)) return;
  throw Error(ErrorKind::kInput, "{} has GPU code for sm_{}{}{}, nothing that runs on sm_{}",
              escaped(path), fmt::join(code.binaries, ", sm_"),
              code.ptx.empty() ? "" : " and PTX for compute_", fmt::join(code.ptx, ", compute_"),
              compute_capability);
}

}  // namespace nf4bench::peer
