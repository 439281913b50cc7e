// Archives whose directory lies or could be read in two ways.

#include "io/npz/zip_directory.hpp"

#include "io/checkpoint/checkpoint.hpp"
#include "io/raw_files.hpp"
#include "io/zip_files.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench::testing {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr std::size_t kLocator = 20;  // bytes of the zip64 locator
constexpr std::size_t kEnd64 = 56;    // bytes of the zip64 end record

std::string sample() {
  return zip_archive(sample_members());
}

std::string sample64() {
  return zip_archive(sample_members(), Zip64::kAlways);
}

// `archive`, with `value` in the zip64 record that begins `before` bytes before the end record.
std::string with_end64(std::string archive, std::size_t before, std::size_t offset,
                       std::uint64_t value, int width) {
  return archive.replace(archive.size() - kZipEndBytes - before + offset,
                         static_cast<std::size_t>(width), little_endian(value, width));
}

// `archive`, with `value` in the first entry of its directory.
std::string with_entry(std::string archive, std::size_t offset, std::uint64_t value, int width) {
  return archive.replace(archive.find("PK\x01\x02"sv) + offset, static_cast<std::size_t>(width),
                         little_endian(value, width));
}

void expect_refusal(const std::string& archive, const std::string& part) {
  const std::string message =
      refusal([&] { io::Checkpoint::open_memory("x.npz", to_bytes(archive)); });
  EXPECT_TRUE(message.starts_with("x.npz: ")) << message;
  expect_part(message, part);
}

void expect_accepted(const std::string& archive) {
  EXPECT_EQ(io::Checkpoint::open_memory("x.npz", to_bytes(archive)).tensors().size(), 2u);
}

TEST(ZipDirectory, ArchiveWithoutEndRecordIsCutShort) {
  const std::string archive = sample();
  expect_refusal(archive.substr(0, archive.size() - 1), "cut short: its end record is missing");
  expect_refusal(archive.substr(0, archive.size() / 2), "cut short: its end record is missing");
  expect_refusal(std::string(100, 'x').replace(0, 4, "PK\x03\x04"), "its end record is missing");
}

TEST(ZipDirectory, TwoEndRecordsAreRefused) {
  const std::string archive = sample();
  expect_refusal(with_comment(archive, archive.substr(archive.size() - kZipEndBytes)),
                 "end records: found 2, wanted one");
  expect_refusal(with_comment(archive, sample()), "end records: found 2, wanted one");
  std::vector<ZipMember> members = sample_members();
  members.push_back({.name = "inner.zip", .packed = archive});
  expect_refusal(zip_archive(members), "end records: found 2, wanted one");
  members.back().packed = std::string("PK\x06\x07") + std::string(16, 'x') + "PK\x05\x06xxxx";
  expect_refusal(zip_archive(members), "end records: found 2, wanted one");
}

TEST(ZipDirectory, DataThatResembleAnEndRecordAreData) {
  std::vector<ZipMember> members = sample_members();
  members.push_back({.name = "noise", .packed = "PK\x05\x06 of a weight, and some more"});
  expect_accepted(zip_archive(members));
}

TEST(ZipDirectory, CommentOfAnotherLengthIsRefused) {
  expect_refusal(sample() + "more",
                 "archive comment: found 0 bytes, wanted the 4 bytes after the end record");
  expect_refusal(with_end(sample(), 20, 7, 2),
                 "archive comment: found 7 bytes, wanted the 0 bytes after the end record");
}

TEST(ZipDirectory, PartsOfSeveralDisksAreRefused) {
  const std::string wanted = "disks: found a part of an archive of several, wanted a whole archive";
  expect_refusal(with_end(sample(), 4, 1, 2), wanted);     // this disk
  expect_refusal(with_end(sample(), 6, 1, 2), wanted);     // the directory's
  expect_refusal(with_end(sample(), 8, 3, 2), wanted);     // entries on this disk
  expect_refusal(with_entry(sample(), 34, 1, 2), wanted);  // a member's
  expect_refusal(with_end64(sample64(), kLocator, 4, 1, 4), wanted);
  expect_refusal(with_end64(sample64(), kLocator, 16, 2, 4), wanted);
  expect_refusal(with_end64(sample64(), kLocator + kEnd64, 16, 1, 4), wanted);
  expect_refusal(with_end64(sample64(), kLocator + kEnd64, 20, 1, 4), wanted);
  expect_refusal(with_end64(sample64(), kLocator + kEnd64, 24, 1, 8), wanted);
}

TEST(ZipDirectory, DirectoryEndsWhereTheEndRecordBegins) {
  const std::string archive = sample();
  const std::string end = std::to_string(archive.size() - kZipEndBytes);
  const std::string wanted = "wanted one that ends at " + end + ", before the end record";
  expect_refusal(with_end(archive, 16, 0xffff'fff0, 4), wanted);  // past the end of the file
  expect_refusal(with_end(archive, 16, 0, 4), wanted);
  expect_refusal(with_end(archive, 12, 0, 4), wanted);
  expect_refusal(with_end64(sample64(), kLocator + kEnd64, 48, UINT64_MAX, 8),
                 "bytes at 18446744073709551615, wanted one that ends at");
  std::string gap = archive;
  gap.insert(gap.size() - kZipEndBytes, "between");
  expect_refusal(gap, ", before the end record");
}

TEST(ZipDirectory, SizesOfZip64ThatOverflowAreRefused) {
  std::string archive = with_end(sample64(), 12, 0xffff'ffff, 4);
  archive = with_end64(archive, kLocator + kEnd64, 40, UINT64_MAX, 8);
  expect_refusal(with_end64(archive, kLocator + kEnd64, 48, UINT64_MAX, 8),
                 "central directory: found 18446744073709551615 bytes at 18446744073709551615");
}

TEST(ZipDirectory, LyingZip64LocatorIsRefused) {
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1} << 40, UINT64_MAX}) {
    expect_refusal(with_end64(sample64(), kLocator, 8, offset, 8),
                   "zip64 locator: found offset " + std::to_string(offset));
  }
  const std::string archive = sample64();
  expect_refusal("PK\x03\x04" + archive.substr(archive.size() - kZipEndBytes - kLocator),
                 "zip64 locator: found offset");
}

TEST(ZipDirectory, DamagedZip64RecordIsRefused) {
  expect_refusal(with_end64(sample64(), kLocator + kEnd64, 0, 0, 1),
                 "the zip64 end record is damaged");
  expect_refusal(with_end64(sample64(), kLocator + kEnd64, 4, 45, 8),
                 "the zip64 end record is damaged");
}

TEST(ZipDirectory, EndRecordsThatDisagreeAreRefused) {
  const std::string wanted = "the end record and the zip64 end record disagree";
  for (const std::size_t offset : {4u, 6u, 8u, 10u}) {
    expect_refusal(with_end(sample64(), offset, 3, 2), wanted);
    expect_accepted(with_end(sample64(), offset, 0xffff, 2));
  }
  for (const std::size_t offset : {12u, 16u}) {
    expect_refusal(with_end(sample64(), offset, 3, 4), wanted);
    expect_accepted(with_end(sample64(), offset, 0xffff'ffff, 4));
  }
}

TEST(ZipDirectory, EntriesAreCounted) {
  std::string archive = with_end(sample(), 8, 11, 2);
  expect_refusal(with_end(archive, 10, 11, 2),
                 "central directory: found 12 entries, wanted the 11 of the end record");
  archive = with_end(sample(), 8, 13, 2);
  expect_refusal(with_end(archive, 10, 13, 2), "found 12 entries, wanted the 13");
}

TEST(ZipDirectory, DamagedEntriesAreRefused) {
  const std::string wanted = "an entry of the central directory is damaged";
  expect_refusal(with_entry(sample(), 0, 0, 1), wanted);
  expect_refusal(with_entry(sample(), 28, 0xffff, 2), wanted);  // the name's length
  expect_refusal(with_entry(sample(), 30, 1, 2), wanted);       // the next one begins later
  for (const std::size_t offset : {20u, 24u, 42u}) {
    expect_refusal(with_entry(sample(), offset, 0xffff'ffff, 4), wanted);  // there is no zip64
  }
  std::string archive = sample();
  archive.insert(archive.size() - kZipEndBytes, "PK\x01\x02");
  const std::uint64_t bytes = archive.size() - kZipEndBytes - archive.find("PK\x01\x02"sv);
  expect_refusal(with_end(archive, 12, bytes, 4), wanted);
}

TEST(ZipDirectory, MembersAndDirectoryAreLimited) {
  std::vector<ZipMember> members;
  for (std::uint64_t i = 0; i <= io::kMaxZipMembers; ++i)
    members.push_back({std::to_string(i), ""});
  expect_refusal(zip_archive(members), "members: found 16385, wanted at most 16384");
  members.pop_back();
  EXPECT_TRUE(
      io::Checkpoint::open_memory("x.npz", to_bytes(zip_archive(members))).tensors().empty());
  for (ZipMember& member : members) member.extra = std::string(1000, '\0');
  expect_refusal(zip_archive(members), ", wanted at most 8388608");
}

TEST(ZipDirectory, NamesWithAPathAreRefused) {
  for (const std::string& name : {"/w.npy"s, "../w.npy"s, "a/b.npy"s, "a\\b.npy"s, "w/"s,
                                  "a\0.npy"s, ""s, std::string(256, 'n')}) {
    std::vector<ZipMember> members = sample_members();
    members.push_back({.name = name, .packed = ""});
    expect_refusal(zip_archive(members), "wanted a file's name without a path, of at most 255");
  }
  expect_refusal(zip_archive({{.name = "\x1b[31m/\n"}}), R"(member name: found "\x1b[31m/\n")");
}

TEST(ZipDirectory, NamesThatOccurTwiceAreRefused) {
  std::vector<ZipMember> members = sample_members();
  members.push_back(members.front());
  expect_refusal(zip_archive(members), "two members are called \"s2x3x64.weight.absmax.npy\"");
}

// The extra field 0x7075 holds another name, which some readers prefer.
TEST(ZipDirectory, SecondNamesAreRefused) {
  const std::string extra = little_endian(0x7075, 2) + little_endian(5 + 5, 2) + "\1" +
                            little_endian(checksum("w.npy"), 4) + "v.npy";
  expect_refusal(zip_archive({{.name = "w.npy", .packed = "x", .extra = extra}}),
                 "member name: found \"w.npy\" and \"v.npy\", wanted one name for a member");
}

TEST(ZipDirectory, EntriesThatNoLibraryTakesAreDamage) {
  expect_refusal(zip_archive({{.name = "\xff.npy", .flags = 0x800}}),  // said to be UTF-8
                 "the archive is damaged: ");
}

// Some readers go from member to member and never see the directory.
TEST(ZipMembers, ThatContradictTheDirectoryAreRefused) {
  const std::string archive = sample();
  const std::string member = "x.npz: member \"s2x3x64.weight.absmax.npy\": ";
  const auto with_header = [&](std::size_t offset, std::uint64_t value, int width) {
    return std::string(archive).replace(offset, static_cast<std::size_t>(width),
                                        little_endian(value, width));
  };
  const std::size_t second = archive.find("PK\x03\x04"sv, 4);
  expect_refusal(with_header(second, 0, 4),
                 "absmax.npy\": has no header at byte " + std::to_string(second));
  expect_refusal(with_header(6, 0x800, 2),
                 member + "flags in its own header: found 2048, wanted 0 as in the directory");
  expect_refusal(with_header(8, 8, 2),
                 member + "method in its own header: found 8, wanted 0 as in the directory");
  expect_refusal(with_header(14, 1, 4), member + "checksum in its own header: found 1, wanted ");
  expect_refusal(with_header(18, 1, 4), member + "packed size in its own header: found 1, wanted ");
  expect_refusal(with_header(22, 1, 4), member + "size in its own header: found 1, wanted ");
  expect_refusal(with_header(22, 0xffff'ffff, 4), member + "its own header is damaged");
  expect_refusal(with_header(26, 1, 2), member + "name in its own header: found \"s\", wanted ");
  expect_refusal(with_header(28, 0xffff, 2), member + "reaches past byte ");
  expect_refusal(with_header(28, 1, 2), member + "reaches past byte ");
}

TEST(ZipMembers, AnotherNameIsRefusedAndShownEscaped) {
  std::vector<ZipMember> members = sample_members();
  members[1].own_name = "\x1b[2J";
  expect_refusal(zip_archive(members), R"(name in its own header: found "\x1b[2J", wanted ")");
}

TEST(ZipMembers, SizesOf64BitsAreComparedToo) {
  std::string archive = sample64();
  const std::size_t extra = 30 + sample_members().front().name.size() + 4;
  expect_refusal(std::string(archive).replace(extra, 8, little_endian(1, 8)),
                 "\": size in its own header: found 1, wanted ");
  expect_refusal(std::string(archive).replace(extra + 8, 8, little_endian(1, 8)),
                 "\": packed size in its own header: found 1, wanted ");
  expect_refusal(archive.replace(extra - 2, 2, little_endian(15, 2)), "its own header is damaged");
}

TEST(ZipMembers, NothingLiesBetweenThem) {
  std::vector<ZipMember> members = sample_members();
  members[2].after = "hidden";
  expect_refusal(zip_archive(members), "\": behind its data: found 6 bytes, wanted none");
  members = sample_members();
  members.back().after = zip_archive({{.name = "w.npy", .packed = "x"}}).substr(0, 36);
  expect_refusal(zip_archive(members), "\": behind its data: found 36 bytes, wanted none");
  EXPECT_TRUE(io::Checkpoint::open_memory("x.npz", to_bytes(zip_archive({}))).tensors().empty());
}

TEST(ZipMembers, WhatFollowsStreamedDataAgreesWithTheDirectory) {
  std::vector<ZipMember> members = sample_members();
  const ZipMember honest = streamed_member(members[0].name, members[0].packed);
  const auto archive_with = [&](const std::string& after) {
    members[0] = honest;
    members[0].after = after;
    return zip_archive(members);
  };
  const std::string sizes64 = little_endian(*honest.checksum, 4) +
                              little_endian(honest.packed.size(), 8) +
                              little_endian(*honest.bytes, 8);
  expect_accepted(archive_with(honest.after));
  expect_accepted(archive_with(honest.after.substr(4)));
  expect_accepted(archive_with(sizes64));
  expect_accepted(archive_with("PK\x07\x08" + sizes64));
  const std::string wanted = "wanted its checksum and sizes as in the directory";
  for (std::size_t i = 0; i < honest.after.size(); ++i) {
    std::string after = honest.after;
    after[i] = static_cast<char>(after[i] ^ 1);
    expect_refusal(archive_with(after), wanted);
  }
  expect_refusal(archive_with(""), "behind its data: found 0 bytes, " + wanted);
  expect_refusal(archive_with(honest.after + "x"), "behind its data: found 17 bytes, " + wanted);
}

TEST(ZipMembers, BeginWhereTheDirectorySays) {
  expect_refusal(with_entry(sample(), 42, 1, 4), "before the first member: found 1 bytes");
  expect_refusal(with_entry(sample(), 42, std::uint64_t{1} << 30, 4), ", wanted none");
  std::vector<ZipMember> members = sample_members();
  std::swap(members.front(), members.back());
  expect_refusal(with_entry(zip_archive(members), 42, 1 << 30, 4),
                 "before the first member: found ");
}

}  // namespace
}  // namespace nf4bench::testing
