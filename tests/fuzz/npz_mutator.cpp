#include "fuzz/checksum.hpp"
#include "fuzz/random.hpp"
#include "fuzz/targets.hpp"

#include <cstring>
#include <span>
#include <vector>

namespace nf4bench::fuzz {
namespace {

constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kHeaderBytes = 30;

// Where a stored member has its data, and both places where its checksum is.
struct Stored {
  std::span<std::uint8_t> data;
  std::uint8_t* checksums[2];
};

std::size_t number_at(const std::uint8_t* bytes, int width) {
  std::size_t value = 0;
  for (int i = 0; i < width; ++i) value |= std::size_t{bytes[i]} << (8 * i);
  return value;
}

std::vector<Stored> stored_members(std::span<std::uint8_t> archive) {
  std::vector<Stored> members;
  for (std::size_t at = 0; at + kEntryBytes <= archive.size(); ++at) {
    std::uint8_t* entry = archive.data() + at;
    if (std::memcmp(entry, "PK\x01\x02", 4) != 0 || number_at(entry + 10, 2) != 0) continue;
    const std::size_t begin = number_at(entry + 42, 4);
    if (begin + kHeaderBytes > archive.size()) continue;
    std::uint8_t* header = archive.data() + begin;
    const std::size_t data =
        begin + kHeaderBytes + number_at(header + 26, 2) + number_at(header + 28, 2);
    const std::size_t bytes = number_at(entry + 20, 4);
    if (bytes == 0 || data + bytes > at) continue;
    members.push_back({archive.subspan(data, bytes), {entry + 16, header + 14}});
  }
  return members;
}

}  // namespace

std::size_t mutate_npz(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                       MutateBytes anyhow) {
  Random random(seed);
  const std::vector<Stored> members = stored_members({data, size});
  if (members.empty() || random.one_in(3)) return anyhow(data, size, max_size);
  const Stored& member = random.pick(std::span(members));
  anyhow(member.data.data(), member.data.size(), member.data.size());
  const std::uint32_t crc = checksum(std::as_bytes(member.data));
  for (std::uint8_t* place : member.checksums) {
    for (int i = 0; i < 4; ++i) place[i] = static_cast<std::uint8_t>(crc >> (8 * i));
  }
  return size;
}

}  // namespace nf4bench::fuzz
