#include "io/npz/zip_directory.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "io/byte_source.hpp"
#include "io/npz/zip_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace nf4bench::io {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kMaxCommentBytes = 65'535;
constexpr std::uint64_t kLocatorBytes = 20;  // of zip64, right before the end record
constexpr std::uint64_t kEnd64Bytes = 56;    // right before the locator
constexpr std::size_t kEntryBytes = 46;
constexpr std::uint64_t kIn64Bits16 =
    0xffff;  // a field of 16 bits whose value is in zip64's record
constexpr std::uint64_t kIn64Bits32 = 0xffff'ffff;

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
         is(number_at(end, 12, 4), kIn64Bits32, directory.bytes) &&
         is(number_at(end, 16, 4), kIn64Bits32, directory.begin);
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
