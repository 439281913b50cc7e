#include "fuzz/checksum.hpp"
#include "fuzz/targets.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/npz/npz_archive.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::fuzz {
namespace {

constexpr std::uint64_t kUnpackedBytes = 1 << 18;  // of a member that is read whole here
constexpr std::uint64_t kMaxRatio = 1032;

std::string in_little_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>((value >> shift) & 0xff);
  return text;
}

// A member is read as declared or not at all. A part of it is the same as in the whole.
void check_member(const io::NpzArchive& archive, std::size_t number, Bytes input) {
  const io::NpzMember& member = archive.members()[number];
  const io::ByteSource range = archive.range();
  std::string whole;
  const bool is_read = accepts([&] { whole = range.read_text(member.begin, member.bytes); });
  std::string start;
  const bool has_start = accepts([&] { start = archive.read_start(number, 100); });
  if (!is_read) return;
  require(has_start && whole.starts_with(start), "a member begins with its start");
  require(whole.empty() ||
              text_of(input).find(in_little_endian(checksum(std::as_bytes(std::span(whole))))) !=
                  std::string_view::npos,
          "what is handed out has a checksum that the archive names");
  const std::uint64_t half = member.bytes / 2;
  require(range.read_text(member.begin + half, member.bytes - half) == whole.substr(half),
          "a part of a member is read as in the whole");
}

void check_archive(const io::NpzArchive& archive, Bytes input) {
  std::uint64_t end = 0;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < archive.members().size(); ++i) {
    const io::NpzMember& member = archive.members()[i];
    require(member.begin == end, "members lie end to end");
    require_printable(member.problem);
    require(member.bytes <= kMaxRatio * input.size(), "a size is one that can be");
    require(member.problem.empty() || member.bytes == 0, "a member with a problem has no bytes");
    require(!member.name.empty() && member.name.find('/') == std::string::npos,
            "a name has no path");
    end += member.bytes;
    names.push_back(member.name);
    if (member.problem.empty() && member.bytes <= kUnpackedBytes) check_member(archive, i, input);
  }
  require(end == archive.size(), "the range is all members");
  std::ranges::sort(names);
  require(std::ranges::adjacent_find(names) == names.end(), "names differ");
}

}  // namespace

void fuzz_npz(Bytes input) {
  accepts(
      [&] { check_archive(io::NpzArchive(io::ByteSource::in_memory("fuzz.npz", input)), input); });
  accepts([&] {
    const io::Checkpoint checkpoint =
        io::Checkpoint::open_memory("fuzz.npz", {input.begin(), input.end()});
    for (const io::TensorEntry& entry : checkpoint.tensors()) {
      require_printable(entry.problem);
      if (entry.packed_bytes > static_cast<std::int64_t>(kUnpackedBytes)) continue;
      const bool is_loaded = accepts([&] { nf4::validate(checkpoint.load(entry)); });
      require(entry.problem.empty() || !is_loaded, "a tensor with a problem is not loaded");
    }
  });
}

}  // namespace nf4bench::fuzz
