#include "io/npz/zip_directory.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "io/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {
namespace {

// What the directory of a zip archive says of a member.
struct ZipEntry {
  std::string_view name;
  std::uint64_t flags = 0;
  std::uint64_t method = 0;
  std::uint64_t checksum = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;  // unpacked
  std::uint64_t begin = 0;  // of its own header in the file
};

// The sizes of 64 bits and the offset in the extra fields of a header. They replace those of its
// 32-bit fields that say so, all in this order.
struct Zip64Sizes {
  std::uint64_t& bytes;
  std::uint64_t& packed_bytes;
  std::uint64_t* begin = nullptr;  // a member's own header has none
};

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

// False when `extra` lacks a value that a field says is there.
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

// Compares every member with `entries`, so that readers who go from member to member find what
// those find who believe the directory: name, flags, method, sizes and checksum, and nothing
// before, between and behind the members. `directory` is where the directory begins. Throws
// Error(kInput).
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

constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kMaxCommentBytes = 65'535;
constexpr std::uint64_t kLocatorBytes = 20;  // of zip64, right before the end record
constexpr std::uint64_t kEnd64Bytes = 56;    // right before the locator
constexpr std::size_t kEntryBytes = 46;
constexpr std::uint64_t kIn64Bits16 =
    0xffff;  // a field of 16 bits whose value is in zip64's record

bool has_at(std::string_view bytes, std::size_t begin, std::string_view signature) {
  return bytes.substr(begin, signature.size()) == signature;
}

// Where the directory is and what it should hold.
struct Directory {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t members = 0;
};

Error several_disks(const ByteSource& source) {
  return input_error(source.name(), "disks", "a part of an archive of several", "a whole archive");
}

// The end of the file, as far as an end record and a locator before it may reach.
struct Tail {
  std::uint64_t begin = 0;  // in the file
  std::string bytes;
};

Tail read_tail(const ByteSource& source) {
  const std::uint64_t count = std::min(source.size(), kLocatorBytes + kEndBytes + kMaxCommentBytes);
  return {source.size() - count, source.read_text(source.size() - count, count)};
}

bool has_locator(const Tail& tail, std::size_t end) {
  return end >= kLocatorBytes && has_at(tail.bytes, end - kLocatorBytes, "PK\x06\x07"sv);
}

// Where in the tail the only end record is. Four bytes of a weight may look like the start of one.
// So a record counts only when it ends the file, or when a reader would accept its first fields.
std::size_t find_end(const ByteSource& source, const Tail& tail) {
  std::vector<std::size_t> found;
  for (std::size_t at = tail.bytes.find("PK\x05\x06"sv);
       at != std::string::npos && at + kEndBytes <= tail.bytes.size();
       at = tail.bytes.find("PK\x05\x06"sv, at + 1)) {
    const bool ends_file = at + kEndBytes + number_at(tail.bytes, at + 20, 2) == tail.bytes.size();
    const bool is_first_disk = number_at(tail.bytes, at + 4, 4) == 0;
    if (ends_file || is_first_disk || has_locator(tail, at)) found.push_back(at);
  }
  if (found.empty()) {
    throw input_error(source.name(), "the archive is cut short: its end record is missing");
  }
  if (found.size() > 1) {
    throw input_error(source.name(), "end records", fmt::format("{}", found.size()), "one");
  }
  const std::uint64_t after = tail.bytes.size() - found.front() - kEndBytes;
  const std::uint64_t comment = number_at(tail.bytes, found.front() + 20, 2);
  if (comment != after) {
    throw input_error(source.name(), "archive comment", fmt::format("{} bytes", comment),
                      fmt::format("the {} bytes after the end record", after));
  }
  return found.front();
}

Directory read_end32(const ByteSource& source, std::string_view end) {
  if (number_at(end, 4, 4) != 0 || number_at(end, 8, 2) != number_at(end, 10, 2)) {
    throw several_disks(source);
  }
  return {.begin = number_at(end, 16, 4),
          .bytes = number_at(end, 12, 4),
          .members = number_at(end, 10, 2)};
}

// A field of the short record repeats the one of the long record, or says that it is there.
bool agree(std::string_view end, const Directory& directory) {
  const auto is = [](std::uint64_t small, std::uint64_t limit, std::uint64_t large) {
    return small == limit || small == large;
  };
  return is(number_at(end, 4, 2), kIn64Bits16, 0) && is(number_at(end, 6, 2), kIn64Bits16, 0) &&
         is(number_at(end, 8, 2), kIn64Bits16, directory.members) &&
         is(number_at(end, 10, 2), kIn64Bits16, directory.members) &&
         is(number_at(end, 12, 4), kIn64Bits, directory.bytes) &&
         is(number_at(end, 16, 4), kIn64Bits, directory.begin);
}

// `locator` is at `position` in the file, right before the end record `end`.
Directory read_end64(const ByteSource& source, std::string_view locator, std::uint64_t position,
                     std::string_view end) {
  const std::uint64_t begin = number_at(locator, 8, 8);
  if (position < kEnd64Bytes || begin != position - kEnd64Bytes) {
    throw input_error(source.name(), "zip64 locator", fmt::format("offset {}", begin),
                      fmt::format("the {} bytes before byte {}", kEnd64Bytes, position));
  }
  const std::string record = source.read_text(begin, kEnd64Bytes);
  if (!has_at(record, 0, "PK\x06\x06"sv) || number_at(record, 4, 8) != kEnd64Bytes - 12) {
    throw input_error(source.name(), "the zip64 end record is damaged");
  }
  // Writers count disks from 0 or from 1 in the locator.
  if (number_at(locator, 4, 4) != 0 || number_at(locator, 16, 4) > 1 ||
      number_at(record, 16, 8) != 0 || number_at(record, 24, 8) != number_at(record, 32, 8)) {
    throw several_disks(source);
  }
  const Directory directory = {.begin = number_at(record, 48, 8),
                               .bytes = number_at(record, 40, 8),
                               .members = number_at(record, 32, 8)};
  if (!agree(end, directory)) {
    throw input_error(source.name(), "the end record and the zip64 end record disagree");
  }
  return directory;
}

Directory find_directory(const ByteSource& source) {
  const Tail tail = read_tail(source);
  const std::size_t at = find_end(source, tail);
  const std::string_view end = std::string_view(tail.bytes).substr(at, kEndBytes);
  std::uint64_t limit = tail.begin + at;
  Directory directory;
  if (has_locator(tail, at)) {
    const std::string_view locator =
        std::string_view(tail.bytes).substr(at - kLocatorBytes, kLocatorBytes);
    directory = read_end64(source, locator, limit - kLocatorBytes, end);
    limit -= kLocatorBytes + kEnd64Bytes;
  } else {
    directory = read_end32(source, end);
  }
  if (checked_add(directory.begin, directory.bytes) != limit) {
    throw input_error(source.name(), "central directory",
                      fmt::format("{} bytes at {}", directory.bytes, directory.begin),
                      fmt::format("one that ends at {}, before the end record", limit));
  }
  if (directory.members > kMaxZipMembers) {
    throw input_error(source.name(), "members", fmt::format("{}", directory.members),
                      fmt::format("at most {}", kMaxZipMembers));
  }
  if (directory.bytes > kMaxZipDirectoryBytes) {
    throw input_error(source.name(), "central directory", fmt::format("{} bytes", directory.bytes),
                      fmt::format("at most {}", kMaxZipDirectoryBytes));
  }
  return directory;
}

void check_name(const ByteSource& source, std::string_view name) {
  if (!name.empty() && name.size() <= kMaxZipNameBytes &&
      name.find_first_of("/\\\0"sv) == std::string_view::npos) {
    return;
  }
  throw input_error(
      source.name(), "member name", in_quotes(name),
      fmt::format("a file's name without a path, of at most {} bytes", kMaxZipNameBytes));
}

// Removes the entry at the start of `rest` and returns what it says.
ZipEntry take_entry(const ByteSource& source, std::string_view& rest) {
  const auto damaged = [&] {
    return input_error(source.name(), "an entry of the central directory is damaged");
  };
  if (rest.size() < kEntryBytes || !has_at(rest, 0, "PK\x01\x02"sv)) throw damaged();
  const std::size_t name_bytes = number_at(rest, 28, 2);
  const std::size_t extra_bytes = number_at(rest, 30, 2);
  const std::size_t bytes = kEntryBytes + name_bytes + extra_bytes + number_at(rest, 32, 2);
  if (rest.size() < bytes) throw damaged();
  if (number_at(rest, 34, 2) != 0) throw several_disks(source);
  ZipEntry entry = {.name = rest.substr(kEntryBytes, name_bytes),
                    .flags = number_at(rest, 8, 2),
                    .method = number_at(rest, 10, 2),
                    .checksum = number_at(rest, 16, 4),
                    .packed_bytes = number_at(rest, 20, 4),
                    .bytes = number_at(rest, 24, 4),
                    .begin = number_at(rest, 42, 4)};
  const bool is_whole =
      read_zip64(rest.substr(kEntryBytes + name_bytes, extra_bytes),
                 {.bytes = entry.bytes, .packed_bytes = entry.packed_bytes, .begin = &entry.begin});
  if (!is_whole) throw damaged();
  rest.remove_prefix(bytes);
  return entry;
}

std::vector<ZipEntry> read_entries(const ByteSource& source, const Directory& directory,
                                   std::string_view text) {
  std::vector<ZipEntry> entries;
  while (!text.empty()) {
    entries.push_back(take_entry(source, text));
    check_name(source, entries.back().name);
  }
  if (entries.size() != directory.members) {
    throw input_error(source.name(), "central directory", fmt::format("{} entries", entries.size()),
                      fmt::format("the {} of the end record", directory.members));
  }
  return entries;
}

}  // namespace

std::vector<std::string> read_zip_names(const ByteSource& source) {
  const Directory directory = find_directory(source);
  const std::string text = source.read_text(directory.begin, directory.bytes);
  const std::vector<ZipEntry> entries = read_entries(source, directory, text);
  std::vector<std::string_view> sorted;
  sorted.reserve(entries.size());
  for (const ZipEntry& entry : entries) sorted.push_back(entry.name);
  std::vector<std::string> names(sorted.begin(), sorted.end());
  std::ranges::sort(sorted);
  const auto twin = std::ranges::adjacent_find(sorted);
  if (twin != sorted.end()) {
    throw input_error(source.name(), fmt::format("two members are called {}", in_quotes(*twin)));
  }
  check_zip_members(source, entries, directory.begin);
  return names;
}

}  // namespace nf4bench::io
