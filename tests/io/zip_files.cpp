#include "io/zip_files.hpp"

#include "fuzz/checksum.hpp"
#include "io/raw_files.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <utility>

namespace nf4bench::testing {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kMax32 = 0xffff'ffff;
constexpr int kStreamed = 8;  // the flag: sizes and checksum follow the data

std::string text(std::string_view bytes) {
  return std::string(bytes);
}

std::uint64_t packed_bytes(const ZipMember& member) {
  return member.packed_bytes.value_or(member.packed.size() + member.hole.value_or(0));
}

std::uint64_t unpacked_bytes(const ZipMember& member) {
  return member.bytes.value_or(packed_bytes(member));
}

std::uint32_t declared_checksum(const ZipMember& member) {
  return member.checksum.value_or(checksum(member.packed));
}

bool needs_zip64(const ZipMember& member, Zip64 zip64) {
  return zip64 == Zip64::kAlways || packed_bytes(member) >= kMax32 ||
         unpacked_bytes(member) >= kMax32;
}

// The fields that a member's own header and the directory's entry share, up to the lengths.
std::string shared_fields(const ZipMember& member, bool is_zip64, bool is_blank) {
  const std::uint64_t limit = is_zip64 ? kMax32 : 0;
  std::string fields = little_endian(is_zip64 ? 45 : 20, 2);
  fields += little_endian(static_cast<std::uint64_t>(member.flags), 2);
  fields += little_endian(static_cast<std::uint64_t>(member.method), 2);
  fields += little_endian(0x00210000, 4);  // midnight, 1 January 1980
  fields += little_endian(is_blank ? 0 : declared_checksum(member), 4);
  for (const std::uint64_t size : {packed_bytes(member), unpacked_bytes(member)}) {
    fields += little_endian(is_zip64 ? limit : is_blank ? 0 : size, 4);
  }
  return fields;
}

std::string zip64_extra(const ZipMember& member, bool is_blank) {
  return little_endian(1, 2) + little_endian(16, 2) +
         little_endian(is_blank ? 0 : unpacked_bytes(member), 8) +
         little_endian(is_blank ? 0 : packed_bytes(member), 8);
}

std::string own_header(const ZipMember& member, bool is_zip64) {
  const bool is_blank = (member.flags & kStreamed) != 0;
  const std::string name = member.own_name.value_or(member.name);
  const std::string extra = member.extra + (is_zip64 ? zip64_extra(member, is_blank) : "");
  return text("PK\x03\x04"sv) + shared_fields(member, is_zip64, is_blank) +
         little_endian(name.size(), 2) + little_endian(extra.size(), 2) + name + extra;
}

std::string directory_entry(const ZipMember& member, bool is_zip64, std::uint64_t position) {
  std::string extra = member.extra;
  if (is_zip64) {
    extra += little_endian(1, 2) + little_endian(24, 2) + little_endian(unpacked_bytes(member), 8) +
             little_endian(packed_bytes(member), 8) + little_endian(position, 8);
  }
  return text("PK\x01\x02"sv) + little_endian(is_zip64 ? 45 : 20, 2) +
         shared_fields(member, is_zip64, false) + little_endian(member.name.size(), 2) +
         little_endian(extra.size(), 2) + little_endian(0, 2) + little_endian(0, 2) +
         little_endian(0, 2) + little_endian(0, 4) +
         little_endian(is_zip64 ? kMax32 : position, 4) + member.name + extra;
}

std::string end_records(std::uint64_t members, std::uint64_t begin, std::uint64_t bytes,
                        bool is_zip64) {
  std::string end;
  if (is_zip64) {
    end = text("PK\x06\x06"sv) + little_endian(44, 8) + little_endian(45, 2) +
          little_endian(45, 2) + little_endian(0, 8) + little_endian(members, 8) +
          little_endian(members, 8) + little_endian(bytes, 8) + little_endian(begin, 8);
    end += text("PK\x06\x07"sv) + little_endian(0, 4) + little_endian(begin + bytes, 8) +
           little_endian(1, 4);
  }
  return end + text("PK\x05\x06"sv) + little_endian(0, 4) + little_endian(members, 2) +
         little_endian(members, 2) + little_endian(bytes, 4) +
         little_endian(is_zip64 ? kMax32 : begin, 4) + little_endian(0, 2);
}

}  // namespace

std::uint32_t checksum(std::string_view bytes) {
  return fuzz::checksum(std::as_bytes(std::span(bytes)));
}

std::string deflated(std::string_view bytes) {
  constexpr std::size_t kBlock = 65'535;
  std::string stream;
  do {
    const std::string_view block = bytes.substr(0, kBlock);
    bytes.remove_prefix(block.size());
    stream += bytes.empty() ? '\1' : '\0';
    stream += little_endian(block.size(), 2) + little_endian(~block.size(), 2);
    stream += block;
  } while (!bytes.empty());
  return stream;
}

ZipMember deflated_member(const std::string& name, std::string_view bytes) {
  ZipMember member = {.name = name, .packed = deflated(bytes)};
  member.bytes = bytes.size();
  member.checksum = checksum(bytes);
  member.method = 8;
  return member;
}

ZipMember streamed_member(const std::string& name, std::string_view bytes) {
  ZipMember member = deflated_member(name, bytes);
  member.flags = kStreamed;
  member.after = text("PK\x07\x08"sv) + little_endian(*member.checksum, 4) +
                 little_endian(member.packed.size(), 4) + little_endian(bytes.size(), 4);
  return member;
}

std::vector<ZipPart> zip_parts(const std::vector<ZipMember>& members, Zip64 zip64) {
  std::vector<ZipPart> parts;
  std::string directory;
  std::uint64_t position = 0;
  for (const ZipMember& member : members) {
    const bool is_zip64 = needs_zip64(member, zip64) || position >= kMax32;
    directory += directory_entry(member, is_zip64, position);
    parts.push_back({position, own_header(member, is_zip64) + member.packed});
    position += parts.back().bytes.size() + member.hole.value_or(0);
    parts.push_back({position, member.after});
    position += member.after.size();
  }
  const bool is_zip64 = zip64 == Zip64::kAlways || position >= kMax32;
  const std::string end = end_records(members.size(), position, directory.size(), is_zip64);
  parts.push_back({position, directory + end});
  return parts;
}

std::string zip_archive(const std::vector<ZipMember>& members, Zip64 zip64) {
  std::string archive;
  for (const ZipPart& part : zip_parts(members, zip64)) {
    if (part.position != archive.size()) throw std::runtime_error("a member is a hole");
    archive += part.bytes;
  }
  return archive;
}

std::string with_end(std::string archive, std::size_t offset, std::uint64_t value, int width) {
  return archive.replace(archive.size() - kZipEndBytes + offset, static_cast<std::size_t>(width),
                         little_endian(value, width));
}

std::string with_comment(std::string archive, const std::string& comment) {
  return with_end(std::move(archive), 20, comment.size(), 2) + comment;
}

std::vector<ZipMember> sample_members() {
  std::vector<ZipMember> members;
  for (const auto& file : std::filesystem::directory_iterator(data_file("npy"))) {
    members.push_back({.name = file.path().filename(), .packed = read_raw(file.path())});
  }
  std::ranges::sort(members, {}, &ZipMember::name);
  return members;
}

ZipMember& at(std::vector<ZipMember>& members, const std::string& name) {
  const auto found = std::ranges::find(members, name, &ZipMember::name);
  if (found == members.end()) throw std::runtime_error("the test has no member " + name);
  return *found;
}

}  // namespace nf4bench::testing
