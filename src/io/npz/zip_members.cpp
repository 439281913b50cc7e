#include "io/npz/zip_members.hpp"

#include "base/error.hpp"
#include "io/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace nf4bench::io {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kHeaderBytes = 30;
constexpr std::uint64_t kIn64Bits = 0xffff'ffff;  // the value is in the extra fields
constexpr std::uint64_t kZip64Id = 1;
constexpr std::uint64_t kStreamed = 8;  // the flag: sizes and checksum follow the data

// The first extra field of zip64; empty when there is none.
std::string_view zip64_field(std::string_view extra) {
  while (extra.size() >= 4) {
    const std::uint64_t bytes = number_at(extra, 2, 2);
    if (bytes > extra.size() - 4) break;
    if (number_at(extra, 0, 2) == kZip64Id) return extra.substr(4, bytes);
    extra.remove_prefix(4 + bytes);
  }
  return {};
}

std::string little_endian(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}

// Compares one member, which has the bytes up to `end`, with its entry.
class MemberCheck {
 public:
  MemberCheck(const ByteSource& source, const ZipEntry& entry, std::uint64_t end)
      : source_(source),
        entry_(entry),
        end_(end),
        where_(fmt::format("{}: member {}", source.name(), in_quotes(entry.name))) {}

  void run() const {
    const std::string header = source_.read_text(entry_.begin, need(0, kHeaderBytes));
    if (!header.starts_with("PK\x03\x04"sv)) {
      throw input_error(where_, fmt::format("has no header at byte {}", entry_.begin));
    }
    const std::uint64_t name_bytes = number_at(header, 26, 2);
    const std::uint64_t behind_bytes = need(kHeaderBytes, name_bytes + number_at(header, 28, 2));
    const std::string behind = source_.read_text(entry_.begin + kHeaderBytes, behind_bytes);
    const std::string_view name = std::string_view(behind).substr(0, name_bytes);
    if (name != entry_.name) differ("name", in_quotes(name), in_quotes(entry_.name));
    compare("flags", number_at(header, 6, 2), entry_.flags);
    compare("method", number_at(header, 8, 2), entry_.method);
    compare_sizes(header, std::string_view(behind).substr(name_bytes));
    check_rest(kHeaderBytes + behind_bytes);
  }

 private:
  // `count`, if the member has so many bytes from `offset` on.
  std::uint64_t need(std::uint64_t offset, std::uint64_t count) const {
    const std::uint64_t all = end_ - entry_.begin;
    if (offset <= all && count <= all - offset) return count;
    throw input_error(where_, fmt::format("reaches past byte {}, where the next member or the "
                                          "directory begins",
                                          end_));
  }

  [[noreturn]] void differ(std::string_view field, const std::string& found,
                           const std::string& wanted) const {
    throw input_error(where_, fmt::format("{} in its own header", field), found,
                      fmt::format("{} as in the directory", wanted));
  }

  void compare(std::string_view field, std::uint64_t found, std::uint64_t wanted) const {
    if (found != wanted) differ(field, fmt::format("{}", found), fmt::format("{}", wanted));
  }

  void compare_sizes(std::string_view header, std::string_view extra) const {
    const std::uint64_t checksum = number_at(header, 14, 4);
    std::uint64_t packed_bytes = number_at(header, 18, 4);
    std::uint64_t bytes = number_at(header, 22, 4);
    if (!read_zip64(extra, {.bytes = bytes, .packed_bytes = packed_bytes})) {
      throw input_error(where_, "its own header is damaged");
    }
    const bool is_streamed = (entry_.flags & kStreamed) != 0;
    if (is_streamed && checksum == 0 && packed_bytes == 0 && bytes == 0) return;
    compare("checksum", checksum, entry_.checksum);
    compare("packed size", packed_bytes, entry_.packed_bytes);
    compare("size", bytes, entry_.bytes);
  }

  // What lies behind the data, which begin at `data`: nothing, or what a streamed member has there,
  // with or without a signature and with sizes of 32 or 64 bits.
  void check_rest(std::uint64_t data) const {
    const std::uint64_t used = data + need(data, entry_.packed_bytes);
    const std::uint64_t count = end_ - entry_.begin - used;
    const bool is_streamed = (entry_.flags & kStreamed) != 0;
    if (!is_streamed && count == 0) return;
    if (is_streamed && (count == 12 || count == 16 || count == 20 || count == 24)) {
      const std::size_t width = count < 20 ? 4 : 8;
      const std::string signature = count % 8 == 0 ? "PK\x07\x08" : "";
      if (source_.read_text(entry_.begin + used, count) ==
          signature + little_endian(entry_.checksum, 4) +
              little_endian(entry_.packed_bytes, width) + little_endian(entry_.bytes, width)) {
        return;
      }
    }
    throw input_error(where_, "behind its data", fmt::format("{} bytes", count),
                      is_streamed ? "its checksum and sizes as in the directory" : "none");
  }

  const ByteSource& source_;
  const ZipEntry& entry_;
  std::uint64_t end_;
  std::string where_;
};

}  // namespace

bool read_zip64(std::string_view extra, const Zip64Sizes& sizes) {
  std::string_view field = zip64_field(extra);
  for (std::uint64_t* value : {&sizes.bytes, &sizes.packed_bytes, sizes.begin}) {
    if (value == nullptr || *value != kIn64Bits) continue;
    if (field.size() < 8) return false;
    *value = number_at(field, 0, 8);
    field.remove_prefix(8);
  }
  return true;
}

void check_zip_members(const ByteSource& source, std::vector<ZipEntry> entries,
                       std::uint64_t directory) {
  std::ranges::sort(entries, {}, &ZipEntry::begin);
  const std::uint64_t first = entries.empty() ? directory : entries.front().begin;
  if (first != 0) {
    throw input_error(source.name(), "before the first member", fmt::format("{} bytes", first),
                      "none");
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint64_t end = i + 1 < entries.size() ? entries[i + 1].begin : directory;
    if (end < entries[i].begin || end > directory) {
      throw input_error(source.name(), "a member's place", fmt::format("byte {}", entries[i].begin),
                        fmt::format("one before the directory, which begins at {}", directory));
    }
    MemberCheck(source, entries[i], end).run();
  }
}

}  // namespace nf4bench::io
