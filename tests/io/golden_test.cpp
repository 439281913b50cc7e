// The anchor of the project: tensors that bitsandbytes wrote, decoded to the bytes that
// bitsandbytes decodes them to. The hashes come from its CUDA kernels, never from this code.

#include "base/sha256.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "nf4/reference.hpp"
#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

const std::filesystem::path kData = std::filesystem::path(NF4BENCH_SOURCE_DIR) / "data";

// One line of data/expected.txt.
struct Expected {
  std::string file, name, shape, blocksize, absmax, dtype, storage;
  std::map<nf4::OutputType, std::string> sha256;
};

std::vector<Expected> read_expected() {
  std::ifstream stream(kData / "expected.txt");
  std::vector<Expected> all;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    Expected e;
    words >> e.file >> e.name >> e.shape >> e.blocksize >> e.absmax >> e.dtype >> e.storage;
    words >> e.sha256[nf4::OutputType::kFloat16] >> e.sha256[nf4::OutputType::kBfloat16] >>
        e.sha256[nf4::OutputType::kFloat32];
    all.push_back(e);
  }
  return all;
}

const io::TensorEntry* find_entry(const io::Checkpoint& checkpoint, const std::string& name) {
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::string sha256_of(const std::vector<std::byte>& bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

TEST(Golden, EveryTensorDecodesToTheBytesOfBitsandbytesInAllThreeTypes) {
  const std::vector<Expected> all = read_expected();
  ASSERT_EQ(all.size(), 49u);
  for (const Expected& expected : all) {
    SCOPED_TRACE(expected.file + " " + expected.name);
    const io::Checkpoint checkpoint = io::Checkpoint::open(kData / expected.file);
    const io::TensorEntry* entry = find_entry(checkpoint, expected.name);
    ASSERT_NE(entry, nullptr);
    ASSERT_EQ(entry->problem, "");
    const nf4::Nf4Tensor tensor = checkpoint.load(*entry);
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      EXPECT_EQ(sha256_of(nf4::reference_dequantize(tensor, type)), expected.sha256.at(type))
          << to_string(type);
    }
  }
}

// Of the same tensors in other containers.
TEST(Golden, FoldersDecodeToTheBytesOfBitsandbytes) {
  for (const char* folder : {"npy", "sharded"}) {
    const io::Checkpoint checkpoint = io::Checkpoint::open(kData / folder);
    ASSERT_EQ(checkpoint.tensors().size(), 2u);
    for (const io::TensorEntry& entry : checkpoint.tensors()) {
      ASSERT_EQ(entry.problem, "");
      const nf4::Nf4Tensor tensor = checkpoint.load(entry);
      const std::vector<Expected> all = read_expected();
      const auto expected = std::ranges::find(all, entry.name, &Expected::name);
      ASSERT_NE(expected, all.end()) << entry.name;
      for (const nf4::OutputType type : nf4::kOutputTypes) {
        EXPECT_EQ(sha256_of(nf4::reference_dequantize(tensor, type)), expected->sha256.at(type))
            << entry.name << to_string(type);
      }
    }
  }
  EXPECT_TRUE(io::Checkpoint::open(kData / "npy").others().empty());
  const io::Checkpoint sharded = io::Checkpoint::open(kData / "sharded");
  ASSERT_EQ(sharded.others().size(), 1u);
  EXPECT_EQ(sharded.others()[0].kind, "bfloat16");
}

TEST(Golden, EveryEntryStatesWhatBitsandbytesStored) {
  for (const Expected& expected : read_expected()) {
    SCOPED_TRACE(expected.file + " " + expected.name);
    const io::Checkpoint checkpoint = io::Checkpoint::open(kData / expected.file);
    const io::TensorEntry* entry = find_entry(checkpoint, expected.name);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(nf4::shape_to_string(entry->shape), expected.shape);
    EXPECT_EQ(std::to_string(entry->blocksize), expected.blocksize);
    EXPECT_EQ(to_string(entry->absmax_kind), expected.absmax);
    EXPECT_EQ(to_string(entry->dtype), expected.dtype);
    ASSERT_TRUE(entry->storage.has_value());
    EXPECT_EQ(to_string(*entry->storage), expected.storage);
    EXPECT_TRUE(entry->warnings.empty());
  }
}

TEST(Golden, NoFileHoldsTensorsBeyondTheExpectedOnes) {
  std::map<std::string, std::size_t> wanted;
  for (const Expected& expected : read_expected()) ++wanted[expected.file];
  for (const auto& [file, count] : wanted) {
    const io::Checkpoint checkpoint = io::Checkpoint::open(kData / file);
    EXPECT_EQ(checkpoint.tensors().size(), count) << file;
    EXPECT_TRUE(checkpoint.others().empty()) << file;
  }
}

TEST(Golden, Fp4IsNamedAsWhatItIsAndNotListedAsNf4) {
  const io::Checkpoint checkpoint = io::Checkpoint::open(kData / "fp4.safetensors");
  EXPECT_TRUE(checkpoint.tensors().empty());
  ASSERT_EQ(checkpoint.others().size(), 1u);
  EXPECT_EQ(checkpoint.others()[0].kind, "FP4");
  EXPECT_THAT(checkpoint.others()[0].names, testing::ElementsAre("fp4_nested.weight"));
}

}  // namespace
}  // namespace nf4bench
