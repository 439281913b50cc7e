// What a .npz archive may hold, and what becomes of it.

#include "io/checkpoint/checkpoint.hpp"
#include "io/npz/npz_archive.hpp"
#include "io/raw_files.hpp"
#include "io/zip_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace nf4bench::testing {
namespace {

namespace fs = std::filesystem;

io::Checkpoint open(const std::string& archive) {
  return io::Checkpoint::open_memory("x.npz", to_bytes(archive));
}

// The archive's tensors are those of data/npy, bit for bit.
void expect_sample(const std::string& archive) {
  const io::Checkpoint checkpoint = open(archive);
  const io::Checkpoint folder = io::Checkpoint::open(data_file("npy"));
  ASSERT_EQ(checkpoint.tensors().size(), folder.tensors().size());
  for (std::size_t i = 0; i < folder.tensors().size(); ++i) {
    const io::TensorEntry& entry = checkpoint.tensors()[i];
    EXPECT_EQ(entry.problem, "");
    EXPECT_EQ(entry.source, "x.npz");
    EXPECT_EQ(entry.name, folder.tensors()[i].name);
    const nf4::Nf4Tensor found = checkpoint.load(entry);
    const nf4::Nf4Tensor wanted = folder.load(folder.tensors()[i]);
    EXPECT_EQ(found.packed, wanted.packed);
    EXPECT_EQ(found.absmax_codes, wanted.absmax_codes);
    EXPECT_EQ(found.nested_absmax, wanted.nested_absmax);
    EXPECT_EQ(found.nested_map, wanted.nested_map);
    EXPECT_EQ(found.nested_offset, wanted.nested_offset);
    EXPECT_EQ(found.shape, wanted.shape);
  }
}

// The problem of `tensor` in the sample after `change` to the member `name`.
template <typename Change>
std::string problem_of(const std::string& tensor, const std::string& name, Change change) {
  std::vector<ZipMember> members = sample_members();
  change(at(members, name));
  const io::Checkpoint checkpoint = open(zip_archive(members));
  std::string problem;
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    if (entry.name == tensor) {
      problem = entry.problem;
      refusal([&] { checkpoint.load(entry); });
    } else {
      EXPECT_EQ(entry.problem, "");
      EXPECT_NO_THROW(checkpoint.load(entry));
    }
  }
  return problem;
}

TEST(Npz, MembersAreTensorsAsInAFolder) {
  expect_sample(zip_archive(sample_members()));
  expect_sample(zip_archive(sample_members(), Zip64::kAlways));
  for (const Zip64 records : {Zip64::kWhenNeeded, Zip64::kAlways}) {
    const std::string archive = zip_archive(sample_members(), records);
    expect_sample(with_comment(archive, std::string(65'535, 'c')));
  }
}

TEST(Npz, MembersMayBeDeflatedStreamedInAnyOrderAndBesideOthers) {
  const std::vector<ZipMember> members = sample_members();
  std::vector<ZipMember> deflated, streamed;
  for (const ZipMember& member : members) {
    deflated.push_back(deflated_member(member.name, member.packed));
    streamed.push_back(streamed_member(member.name, member.packed));
  }
  std::vector<ZipMember> more = members;
  more.push_back({.name = "README.txt", .packed = "nothing"});
  more.push_back({.name = "secret.bin", .packed = "nothing", .flags = 1});
  const std::vector<ZipMember> reversed(members.rbegin(), members.rend());
  for (const auto& each : {deflated, streamed, more, reversed}) {
    expect_sample(zip_archive(each));
  }
}

TEST(Npz, ArrayThatNoTensorNeedsMayBeAnything) {
  std::vector<ZipMember> members = sample_members();
  members.push_back({.name = "labels.npy", .packed = "no array"});
  const io::Checkpoint checkpoint = open(zip_archive(members));
  EXPECT_EQ(checkpoint.tensors().size(), 2u);
  ASSERT_EQ(checkpoint.others().size(), 1u);
  EXPECT_EQ(checkpoint.others()[0].kind, "unreadable .npy");
  EXPECT_EQ(checkpoint.others()[0].names.front(), "labels");
}

TEST(Npz, ArchiveWithoutMembersHasNoTensors) {
  const io::Checkpoint checkpoint = open(zip_archive({}));
  EXPECT_TRUE(checkpoint.tensors().empty());
  EXPECT_TRUE(checkpoint.others().empty());
}

TEST(Npz, ThousandsOfMembersAreListed) {
  std::vector<ZipMember> members = sample_members();
  for (int i = 0; i < 8000; ++i) {
    members.push_back({.name = "f" + std::to_string(i) + ".npy", .packed = members[0].packed});
  }
  const io::Checkpoint checkpoint = open(zip_archive(members));
  EXPECT_EQ(checkpoint.tensors().size(), 2u);
  ASSERT_EQ(checkpoint.others().size(), 1u);
  EXPECT_EQ(checkpoint.others()[0].names.size(), 8000);
}

TEST(Npz, OtherCompressionsAreTheProblemOfTheTensorThatNeedsThem) {
  for (const int method : {1, 12, 14, 93, 95}) {
    expect_part(problem_of("s5x77.weight", "s5x77.weight.absmax.npy",
                           [&](ZipMember& member) { member.method = method; }),
                "absmax cannot be read: x.npz: member \"s5x77.weight.absmax.npy\": compression: "
                "found method " +
                    std::to_string(method) +
                    ", wanted stored (0) or deflated (8), as numpy.savez has it");
  }
}

TEST(Npz, EncryptionIsTheProblemOfTheTensorThatNeedsIt) {
  for (const int flags : {0x01, 0x41}) {  // traditional, strong
    expect_part(problem_of("s2x3x64.weight", "s2x3x64.weight.quant_state.json",
                           [&](ZipMember& member) { member.flags = flags; }),
                "member \"s2x3x64.weight.quant_state.json\": encryption: found an encrypted "
                "member, wanted none");
  }
}

TEST(Npz, DamagedArrayIsTheProblemOfItsTensorOnly) {
  expect_part(problem_of("s5x77.weight", "s5x77.weight.absmax.npy",
                         [](ZipMember& member) { member.packed.pop_back(); }),
              "absmax cannot be read: x.npz: member \"s5x77.weight.absmax.npy\": data: found 6 "
              "bytes, wanted the 7 bytes of |u1 [7]");
  expect_part(problem_of("s5x77.weight", "s5x77.weight.npy",
                         [](ZipMember& member) { member.packed = "GIF89a"; }),
              "member \"s5x77.weight.npy\": not a .npy file");
}

TEST(Npz, QuantStateInBothFormsIsRefused) {
  std::vector<ZipMember> members = sample_members();
  members.push_back(at(members, "s2x3x64.weight.quant_state.json"));
  members.back().name = "s5x77.weight.quant_state.json";
  expect_part(open(zip_archive(members)).tensors()[1].problem,
              "quant_state: found both quant_state.bitsandbytes__nf4 and quant_state.json");
}

TEST(Npz, TwoMembersForOneTensorAreRefused) {
  std::vector<ZipMember> members = sample_members();
  members.push_back(members[0]);
  members.back().name = "s2x3x64.weight.quant_state.json.npy";
  expect_part(refusal([&] { open(zip_archive(members)); }),
              "x.npz: two members hold the tensor \"s2x3x64.weight.quant_state.json\"");
}

TEST(Npz, AnotherFileOfThatNameIsNamedForWhatItIs) {
  expect_part(refusal([] { open("version https://git-lfs.github.com/spec/v1\n"); }),
              "x.npz: not a .npz archive; it looks like a Git LFS pointer");
  expect_part(refusal([] { open("anything else at all, of some length"); }),
              "x.npz: not a .npz archive: it does not start with PK");
  for (const std::string& other : {std::string(), "#!/bin/sh\n" + zip_archive(sample_members())}) {
    expect_part(refusal([&] { open(other); }), "not a .npz archive: it does not start with PK");
  }
}

TEST(Npz, FolderOfArchivesOnlySaysToNameOne) {
  const TemporaryFolder folder;
  write_raw(folder / "b.npz", zip_archive(sample_members()));
  write_raw(folder / "a.npz", zip_archive(sample_members()));
  expect_part(refusal([&] { io::Checkpoint::open(folder.path()); }),
              "folder: found .npz archives only (2, the first is \"a.npz\"), wanted a checkpoint; "
              "name the archive itself");
  EXPECT_EQ(io::Checkpoint::open(folder / "a.npz").tensors().size(), 2u);
}

TEST(Npz, ArchiveReplacedBetweenOpenAndLoadIsAnError) {
  const TemporaryFolder folder;
  write_raw(folder / "a.npz", zip_archive(sample_members()));
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder / "a.npz");
  EXPECT_NO_THROW(checkpoint.load(checkpoint.tensors()[0]));
  write_raw(folder / "a.npz", with_comment(zip_archive(sample_members()), "more"));
  expect_part(refusal([&] { checkpoint.load(checkpoint.tensors()[0]); }),
              "a.npz: the file changed since its header was read");
}

TEST(Npz, ThreadsMayReadTogether) {
  const io::Checkpoint checkpoint = open(zip_archive(sample_members()));
  const std::vector<std::uint8_t> wanted = checkpoint.load(checkpoint.tensors()[1]).packed;
  std::vector<std::thread> threads;
  std::vector<int> equal(4, 0);
  for (int& count : equal) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        count += checkpoint.load(checkpoint.tensors()[1]).packed == wanted ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 50));
}

TEST(NpzArchive, RangeIsAllMembersEndToEnd) {
  const std::string archive =
      zip_archive({{.name = "a", .packed = "123"}, deflated_member("b", "4567")});
  const std::vector<std::byte> bytes = to_bytes(archive);
  const io::NpzArchive members(io::ByteSource::in_memory("x.npz", bytes));
  ASSERT_EQ(members.size(), 7u);
  const io::ByteSource range = members.range();
  EXPECT_EQ(range.size(), 7u);
  EXPECT_EQ(range.name(), "x.npz");
  EXPECT_EQ(range.read_text(0, 3), "123");
  EXPECT_EQ(range.read_text(1, 1), "2");
  EXPECT_EQ(range.read_text(4, 2), "56");
  EXPECT_EQ(members.read_start(1, 2), "45");
  expect_part(refusal([&] { range.read_text(2, 2); }),
              "x.npz: member \"a\": 2 bytes at 2 lie past its end (3 bytes)");
  expect_part(refusal([&] { range.read_text(7, 1); }), "past the end of the file (7 bytes)");
}

}  // namespace
}  // namespace nf4bench::testing
