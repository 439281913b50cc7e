#pragma once

// Zip archives made byte by byte, without a zip library.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::testing {

inline constexpr std::size_t kZipEndBytes = 22;  // the end record of an archive without a comment

// A member, stored, and as the archive declares it: honest unless told what to say.
struct ZipMember {
  std::string name = {};
  std::string packed = {};
  std::optional<std::uint64_t> bytes = {};         // unpacked
  std::optional<std::uint64_t> packed_bytes = {};  // what the directory says of `packed`
  std::optional<std::uint32_t> checksum = {};
  int method = 0;
  int flags = 0;
  std::string extra = {};                    // fields in both headers
  std::optional<std::string> own_name = {};  // in its own header
  std::string after = {};                    // bytes behind the data
  std::optional<std::uint64_t> hole = {};    // the data are this many zeros, never written down
};

// The CRC-32 of zip.
std::uint32_t checksum(std::string_view bytes);

// `bytes` as a deflate stream whose blocks are stored.
std::string deflated(std::string_view bytes);

// A member of `bytes`, deflated.
ZipMember deflated_member(const std::string& name, std::string_view bytes);

// A member whose sizes and checksum follow its data: its own header has zeros.
ZipMember streamed_member(const std::string& name, std::string_view bytes);

// A part of a large archive: `bytes` at `position`. What lies between parts is a hole.
struct ZipPart {
  std::uint64_t position = 0;
  std::string bytes;
};

// The parts of an archive of `members`. Values of 64 bits go to zip64 records when they must, and
// with `zip64` they always do.
enum class Zip64 : std::uint8_t { kWhenNeeded, kAlways };
std::vector<ZipPart> zip_parts(const std::vector<ZipMember>& members, Zip64 zip64);

// The same as one string; no member is a hole.
std::string zip_archive(const std::vector<ZipMember>& members, Zip64 zip64 = Zip64::kWhenNeeded);

// `archive`, which has no comment, with `value` in `width` bytes at `offset` of its end record.
std::string with_end(std::string archive, std::size_t offset, std::uint64_t value, int width);

// The same with `comment`.
std::string with_comment(std::string archive, const std::string& comment);

// The two tensors of data/npy as stored members: s2x3x64.weight with a state of JSON text, and
// s5x77.weight with one of bytes.
std::vector<ZipMember> sample_members();

// The member called `name`.
ZipMember& at(std::vector<ZipMember>& members, const std::string& name);

}  // namespace nf4bench::testing
