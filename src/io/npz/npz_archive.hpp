#pragma once

#include "io/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::io {

// A member of a .npz archive, as the archive's directory declares it.
struct NpzMember {
  std::string name = {};     // without a path; no two are equal
  std::uint64_t begin = 0;   // of its bytes in the range of all members
  std::uint64_t bytes = 0;   // unpacked; 0 for a member with a problem
  std::string problem = {};  // why it cannot be unpacked, one line; empty when it can
};

// The members of a .npz archive, unpacked as they are read and laid end to end as one range of
// bytes. Every thread may read. All errors are Error(kInput).
class NpzArchive {
 public:
  // Reads the directory; unpacks nothing.
  explicit NpzArchive(ByteSource source);
  ~NpzArchive();

  const std::string& name() const;
  std::uint64_t size() const;  // of all members together
  const std::vector<NpzMember>& members() const;

  // What messages call a member: the archive and its name.
  std::string where(std::size_t member) const;

  // The first bytes of a member without a problem, at most `count`. They are not verified: the
  // checksum is that of the whole member.
  std::string read_start(std::size_t member, std::uint64_t count) const;

  // Fills `out` from `offset` on, a range in one member. Unpacks that member to its end, and throws
  // unless its length and checksum are those of the directory.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

  // The range of all members as a source with the archive's name. Borrows this archive.
  ByteSource range() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nf4bench::io
