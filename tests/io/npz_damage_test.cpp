// Members that are not what the directory says, and archives that change or are very large.

#include "base/error.hpp"
#include "base/memory.hpp"
#include "io/byte_source.hpp"
#include "io/golden_pieces.hpp"
#include "io/npz/npz_archive.hpp"
#include "io/zip_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace nf4bench::testing {
namespace {

namespace fs = std::filesystem;

const std::string kState = "s2x3x64.weight.quant_state.json";

io::Checkpoint open_archive(const std::string& archive) {
  return io::Checkpoint::open_memory("x.npz", to_bytes(archive));
}

// What opening the sample says of its first tensor when `state` is the member of its quant state.
std::string problem_with_state(const ZipMember& state) {
  std::vector<ZipMember> members = sample_members();
  at(members, kState) = state;
  const io::Checkpoint checkpoint = open_archive(zip_archive(members));
  EXPECT_EQ(checkpoint.tensors()[1].problem, "");
  return checkpoint.tensors()[0].problem;
}

std::string sample_state() {
  std::vector<ZipMember> members = sample_members();
  return at(members, kState).packed;
}

TEST(NpzDamage, WrongChecksumIsAnErrorBeforeAnyDataIsHandedOut) {
  ZipMember state = {.name = kState, .packed = sample_state(), .checksum = 1};
  expect_part(problem_with_state(state),
              "x.npz: member \"" + kState + "\": the archive is damaged: ");
  state = deflated_member(kState, sample_state());
  state.checksum = 1;
  expect_part(problem_with_state(state),
              "x.npz: member \"" + kState + "\": the archive is damaged: ");
}

TEST(NpzDamage, WeightIsVerifiedWhenItIsLoaded) {
  std::vector<ZipMember> members = sample_members();
  at(members, "s5x77.weight.npy").checksum = 1;
  const io::Checkpoint checkpoint = open_archive(zip_archive(members));
  ASSERT_EQ(checkpoint.tensors()[1].problem, "");
  expect_part(refusal([&] { checkpoint.load(checkpoint.tensors()[1]); }),
              "x.npz: member \"s5x77.weight.npy\": the archive is damaged: ");
}

TEST(NpzDamage, MemberThatIsLongerThanDeclaredIsAnError) {
  ZipMember state = deflated_member(kState, sample_state() + " ");
  state.bytes = sample_state().size();
  expect_part(problem_with_state(state), "data: found more bytes, wanted the " +
                                             std::to_string(sample_state().size()) +
                                             " that the directory declares");
}

TEST(NpzDamage, MemberThatIsShorterThanDeclaredIsAnError) {
  ZipMember state = deflated_member(kState, sample_state());
  state.bytes = sample_state().size() + 1;
  expect_part(problem_with_state(state), "data: found fewer bytes, wanted the " +
                                             std::to_string(sample_state().size() + 1) +
                                             " that the directory declares");
}

TEST(NpzDamage, StreamThatIsNoDeflateIsAnError) {
  ZipMember state = deflated_member(kState, sample_state());
  state.packed[0] = '\7';  // a block of a type that there is not
  expect_part(problem_with_state(state), "the archive is damaged: ");
}

TEST(NpzDamage, StoredMemberOfAnotherSizeIsRefused) {
  ZipMember state = {.name = kState, .packed = sample_state(), .bytes = 9};
  expect_part(problem_with_state(state),
              fmt::format("size: found 9 bytes, wanted the {} stored", sample_state().size()));
}

TEST(NpzDamage, SizeThatNoStreamCanUnpackToIsRefusedWithoutUnpacking) {
  ZipMember state = deflated_member(kState, sample_state());
  const std::uint64_t most = 1032 * state.packed.size();
  state.bytes = most + 1;
  expect_part(problem_with_state(state),
              fmt::format("size: found {} bytes, wanted at most 1032 times the {} compressed",
                          most + 1, state.packed.size()));
  state.bytes = most;
  expect_part(problem_with_state(state), "quant_state: found");  // too long, but possible
}

// Each member's data hold all members after it, as in a bomb of overlapping members.
TEST(NpzDamage, OverlappingMembersAreRefused) {
  constexpr std::size_t kHeaderBytes = 30 + 1;
  const std::string data(1000, '\0');
  std::vector<ZipMember> members;
  for (std::size_t after = 8; after-- > 0;) {
    members.push_back({.name = std::string(1, static_cast<char>('a' + after))});
    members.back().packed_bytes = after * kHeaderBytes + data.size();
  }
  members.back().packed = data;
  expect_part(refusal([&] { open_archive(zip_archive(members)); }), "reaches past byte ");
}

TEST(NpzDamage, EveryTruncationIsRefused) {
  const std::string archive = zip_archive(sample_members());
  for (std::size_t length = 0; length < archive.size(); ++length) {
    SCOPED_TRACE(length);
    refusal([&] { open_archive(archive.substr(0, length)); });
  }
}

// Whatever byte is another one: the tensor is the same, or it is not handed out.
TEST(NpzDamage, NoChangedByteGivesAnotherTensor) {
  std::vector<ZipMember> members = sample_members();
  std::erase_if(members, [](const ZipMember& member) { return member.name.starts_with("s2"); });
  at(members, "s5x77.weight.npy") =
      deflated_member("s5x77.weight.npy", at(members, "s5x77.weight.npy").packed);
  const std::string archive = zip_archive(members);
  const io::Checkpoint whole = open_archive(archive);
  const nf4::Nf4Tensor wanted = whole.load(whole.tensors().front());
  std::size_t refused = 0;
  for (std::size_t i = 0; i < archive.size(); ++i) {
    std::string changed = archive;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    try {
      const io::Checkpoint checkpoint = open_archive(changed);
      for (const io::TensorEntry& entry : checkpoint.tensors()) {
        const nf4::Nf4Tensor found = checkpoint.load(entry);
        ASSERT_EQ(found.packed, wanted.packed) << i;
        ASSERT_EQ(found.absmax_codes, wanted.absmax_codes) << i;
        ASSERT_EQ(found.nested_absmax, wanted.nested_absmax) << i;
        ASSERT_EQ(found.nested_map, wanted.nested_map) << i;
        ASSERT_EQ(found.nested_offset, wanted.nested_offset) << i;
      }
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kInput) << i;
      ++refused;
    }
  }
  EXPECT_GT(refused, archive.size() * 4 / 5);
}

// The data behind the first 10 KB are holes of a deflate stream: opening does not look at them.
TEST(NpzDamage, OpeningReadsHeadersOnly) {
  const std::string array = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (100000,), }",
                                std::string(100'000, 'x'));
  ZipMember member = deflated_member("w.npy", array);
  member.packed.replace(70'000, 1000, std::string(1000, '\7'));
  const std::string archive = zip_archive({member});
  const io::Checkpoint checkpoint = open_archive(archive);
  ASSERT_EQ(checkpoint.others().size(), 1u);
  EXPECT_EQ(checkpoint.others()[0].kind, "uint8");
  const std::vector<std::byte> bytes = to_bytes(archive);
  const io::NpzArchive members(io::ByteSource::in_memory("x.npz", bytes));
  EXPECT_EQ(members.read_start(0, 100), array.substr(0, 100));
  refusal([&] { members.range().read_text(0, 100); });
}

TEST(NpzDamage, ArchiveThatShrinksWhileItIsReadIsAnError) {
  const TemporaryFolder folder;
  const std::string archive = zip_archive({{.name = "a", .packed = std::string(100'000, 'x')}});
  write_raw(folder / "a.npz", archive);
  const io::NpzArchive members(io::ByteSource::open(folder / "a.npz"));
  const io::ByteSource range = members.range();
  ASSERT_EQ(range.read_text(0, 1), "x");
  fs::resize_file(folder / "a.npz", 50'000);
  const std::string wanted = fmt::format(
      "a.npz: the file ended at byte 50000 while it was read; it had {} bytes when it was opened",
      archive.size());
  expect_part(refusal([&] { range.read_text(0, 100'000); }), wanted);
  expect_part(refusal([&] { range.read_text(0, 100'000); }), wanted);
}

TEST(NpzDamage, ArchiveThatShrinksBeforeItsDirectoryIsReadIsAnError) {
  const TemporaryFolder folder;
  write_raw(folder / "a.npz", zip_archive(sample_members()));
  io::ByteSource source = io::ByteSource::open(folder / "a.npz");
  fs::resize_file(folder / "a.npz", 10);
  expect_part(refusal([&] { io::NpzArchive(std::move(source)); }), "while it was read");
}

void write_parts(const fs::path& path, const std::vector<ZipPart>& parts) {
  std::ofstream stream(path, std::ios::binary);
  for (const ZipPart& part : parts) {
    stream.seekp(static_cast<std::streamoff>(part.position));
    stream << part.bytes;
  }
  ASSERT_TRUE(stream.good());
}

constexpr std::uint64_t kPackedBytes = 4'400'000'000;

// A tensor with 4.4 GB of packed weight, all zeros and a hole, and behind it all that says what it
// is: offsets and sizes of 64 bits.
void write_large_archive(const fs::path& path) {
  constexpr std::uint64_t kBlocks = 2 * kPackedBytes / 4096 + 1;
  StateDict pieces = plain();
  set_state(pieces, kPlain, "\"blocksize\": 64", "\"blocksize\": 4096");
  set_state(pieces, kPlain, "[128, 320]", fmt::format("[2, {}]", kPackedBytes));
  const auto header = [](const std::string& descr, std::uint64_t count) {
    return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                   std::to_string(count) + ",), }",
               "");
  };
  std::vector<ZipMember> members(4);
  members[0] = {.name = "w.npy", .packed = header("|u1", kPackedBytes), .hole = kPackedBytes};
  members[0].checksum = 0x8630'606d;  // as Python's zlib.crc32 says
  members[1] = {.name = "w.absmax.npy",
                .packed = header("<f4", kBlocks) + std::string(4 * kBlocks, '\0')};
  members[2] = {.name = "w.quant_map.npy",
                .packed = header("<f4", 16) + at(pieces, kPlain + ".quant_map").bytes};
  members[3] = {.name = "w.quant_state.json", .packed = at(pieces, kPlain + kStateNf4).bytes};
  write_parts(path, zip_parts(members, Zip64::kWhenNeeded));
  ASSERT_GT(fs::file_size(path), kPackedBytes);
}

TEST(NpzDamage, MembersPast4GiBAreReadAndNoHoleIs) {
  const TemporaryFolder folder;
  write_large_archive(folder / "a.npz");
  const auto start = std::chrono::steady_clock::now();
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder / "a.npz");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  ASSERT_EQ(checkpoint.tensors().size(), 1u);
  EXPECT_EQ(checkpoint.tensors()[0].problem, "");
  EXPECT_EQ(checkpoint.tensors()[0].packed_bytes, static_cast<std::int64_t>(kPackedBytes));
}

TEST(NpzDamage, MemberOfMoreThan4GiBIsReadToItsChecksum) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "it takes too long";
#endif
  if (usable_memory_bytes() < 12'000'000'000) GTEST_SKIP() << "it takes 4.4 GB of memory";
  const TemporaryFolder folder;
  write_large_archive(folder / "a.npz");
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder / "a.npz");
  ASSERT_EQ(checkpoint.tensors().size(), 1u);
  EXPECT_EQ(checkpoint.load(checkpoint.tensors()[0]).packed.size(), kPackedBytes);
}

}  // namespace
}  // namespace nf4bench::testing
