// Mutators must keep files readable: broken ones would only ever reach the first check of a reader.

#include "fuzz/second_reader.hpp"
#include "fuzz/strict_json.hpp"
#include "fuzz/targets.hpp"
#include "io/npz/npz_archive.hpp"
#include "io/raw_files.hpp"
#include "io/zip_files.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace nf4bench::fuzz {
namespace {

constexpr std::size_t kMaxSize = 16384;
constexpr unsigned kRounds = 2000;

// Stands in for LLVMFuzzerMutate: changes one byte.
std::size_t change_a_byte(std::uint8_t* data, std::size_t size, std::size_t max_size) {
  if (size == 0 && max_size > 0) return data[0] = '{', 1;
  if (size > 0) data[size / 2] = static_cast<std::uint8_t>(data[size / 2] + 1);
  return size;
}

std::string mutated(decltype(Target::mutate) mutate, const std::string& text, unsigned seed) {
  std::vector<std::uint8_t> data(kMaxSize);
  std::memcpy(data.data(), text.data(), text.size());
  const std::size_t size = mutate(data.data(), text.size(), kMaxSize, seed, change_a_byte);
  EXPECT_LE(size, kMaxSize);
  return {reinterpret_cast<const char*>(data.data()), size};
}

TEST(SafetensorsMutator, LeavesMostFilesValidAndSomeNot) {
  const auto entries =
      testing::read_state_dict(testing::data_file("sharded/model-00002-of-00002.safetensors"));
  const std::string file = testing::to_safetensors(entries);
  ASSERT_TRUE(second_safetensors(file));
  unsigned valid = 0;
  std::set<std::string> different;
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    const std::string next = mutated(mutate_safetensors, file, seed);
    if (second_safetensors(next)) ++valid;
    different.insert(next);
  }
  EXPECT_GT(valid, kRounds / 4);
  EXPECT_LT(valid, kRounds * 9 / 10);
  EXPECT_GT(different.size(), kRounds / 2);
}

TEST(JsonMutator, LeavesMostTextsValidAndSomeNot) {
  const std::string text = R"({"quant_type": "nf4", "blocksize": 64, "shape": [2, 3]})";
  unsigned valid = 0;
  std::set<std::string> different;
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    const std::string next = mutated(mutate_json, text, seed);
    if (parse_strict_json(next, 127)) ++valid;
    different.insert(next);
  }
  EXPECT_GT(valid, kRounds / 4);
  EXPECT_LT(valid, kRounds * 9 / 10);
  EXPECT_GT(different.size(), kRounds / 4);
}

TEST(NpzMutator, LeavesMostChecksumsRightAndSomeNot) {
  const std::string array =
      testing::npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", "abc");
  const std::string archive = testing::zip_archive({{.name = "w.npy", .packed = array}});
  unsigned valid = 0;
  std::set<std::string> different;
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    const std::vector<std::byte> next = testing::to_bytes(mutated(mutate_npz, archive, seed));
    valid += accepts([&] {
      const io::NpzArchive members(io::ByteSource::in_memory("x.npz", next));
      members.range().read_text(0, members.size());
    });
    different.insert(std::string(text_of(next)));
  }
  EXPECT_GT(valid, kRounds / 4);
  EXPECT_LT(valid, kRounds * 9 / 10);
  EXPECT_GE(different.size(), 2u);
}

TEST(Mutators, TakeAnyBytes) {
  for (const Target& target : kTargets) {
    for (unsigned seed = 0; seed < 200; ++seed) {
      for (const std::string text : {"", "{", "\"", "\"\\", "[[]", "12345678", "12345678{\"a\":"}) {
        mutated(target.mutate, text, seed);
      }
      mutated(target.mutate, std::string(9, '\0'), seed);
    }
  }
}

}  // namespace
}  // namespace nf4bench::fuzz
