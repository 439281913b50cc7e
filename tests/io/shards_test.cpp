// Checkpoints of more than one file: index and shards, folders without an index.

#include "io/checkpoint/checkpoint.hpp"
#include "io/raw_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::testing {
namespace {

namespace fs = std::filesystem;

const std::string kIndexName = "model.safetensors.index.json";
const std::string kWeight = "plain_bf16.weight";

// A folder whose two shards hold one plain NF4 weight; the second holds its absmax.
class ShardedFolder {
 public:
  ShardedFolder() {
    StateDict entries = select_weight(read_state_dict(data_file("dtypes.safetensors")), kWeight);
    const RawTensor absmax = at(entries, kWeight + ".absmax");
    remove(entries, kWeight + ".absmax");
    write_raw(folder_ / "a.safetensors", to_safetensors(entries));
    write_raw(folder_ / "b.safetensors", to_safetensors({absmax}));
    index_ = R"({"metadata":{"total_size":1},"weight_map":{)";
    for (const RawTensor& entry : entries) index_ += "\"" + entry.name + "\":\"a.safetensors\",";
    index_ += "\"" + absmax.name + "\":\"b.safetensors\"}}";
    write_index(index_);
  }

  const fs::path& path() const { return folder_.path(); }
  fs::path operator/(const std::string& name) const { return folder_ / name; }
  const std::string& index() const { return index_; }
  void write_index(const std::string& text) const { write_raw(folder_ / kIndexName, text); }

 private:
  TemporaryFolder folder_;
  std::string index_;
};

void expect_refusal(const fs::path& path, const std::string& part) {
  expect_part(refusal([&] { io::Checkpoint::open(path); }), part);
}

// A folder whose index maps its only tensor to `shard`, a JSON value.
void expect_shard_refused(const std::string& shard) {
  const TemporaryFolder folder;
  write_raw(folder / kIndexName, R"({"weight_map":{"t":)" + shard + "}}");
  expect_refusal(folder.path(), "shard of tensor \"t\": found");
}

TEST(Shards, WeightAndAbsmaxMayLieInDifferentShards) {
  const ShardedFolder folder;
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder.path());
  ASSERT_EQ(checkpoint.tensors().size(), 1u);
  EXPECT_EQ(checkpoint.tensors()[0].problem, "");
  EXPECT_EQ(checkpoint.tensors()[0].source, (folder / "a.safetensors").native());
  const io::Checkpoint whole = io::Checkpoint::open(data_file("dtypes.safetensors"));
  for (const io::TensorEntry& entry : whole.tensors()) {
    if (entry.name == kWeight) {
      EXPECT_EQ(checkpoint.load(checkpoint.tensors()[0]).absmax, whole.load(entry).absmax);
    }
  }
}

TEST(Shards, IndexIsAnInputLikeItsFolderAndMayHaveAnotherName) {
  const ShardedFolder folder;
  EXPECT_EQ(io::Checkpoint::open(folder / kIndexName).tensors().size(), 1u);
  fs::rename(folder / kIndexName, folder / "diffusion_pytorch_model.safetensors.index.json");
  EXPECT_EQ(io::Checkpoint::open(folder.path()).tensors().size(), 1u);
}

TEST(Shards, IndexMustBeAnObjectWithAMapOfTensors) {
  const ShardedFolder folder;
  for (const auto& [index, message] : std::vector<std::pair<std::string, std::string>>{
           {"weight_map: a", kIndexName + ": not valid JSON"},
           {R"({"metadata":{}})", "the field weight_map is missing"},
           {R"({"weight_map":[]})", "weight_map: found an array, wanted an object"},
           {"[]", "index: found an array, wanted an object"},
           {R"({"weight_map":{"t":"a.safetensors","t":"b.safetensors"}})",
            "the key \"t\" occurs twice"}}) {
    folder.write_index(index);
    expect_refusal(folder.path(), message);
  }
}

TEST(Shards, TwoIndexesInOneFolderAreAmbiguous) {
  const ShardedFolder folder;
  fs::copy(folder / kIndexName, folder / "other.safetensors.index.json");
  expect_refusal(folder.path(), "indexes: found 2");
}

TEST(Shards, FilesThatTheIndexDoesNotNameAreLeftAlone) {
  const ShardedFolder folder;
  write_raw(folder / "stray.safetensors", "garbage");
  EXPECT_EQ(io::Checkpoint::open(folder.path()).tensors().size(), 1u);
}

TEST(Shards, NamesInTheIndexThatAreNoneOrPathsAreRefused) {
  for (const char* shard :
       {R"("../../etc/passwd")", R"("/abs/a.safetensors")", R"("a/../b.safetensors")",
        R"("../a.safetensors")", R"("")", R"("a\u0000.safetensors")", R"("a.bin")",
        R"("..\\a.safetensors")", R"(".safetensors")", "5", "null", "{}", R"(["a.safetensors"])"}) {
    SCOPED_TRACE(shard);
    expect_shard_refused(shard);
  }
}

TEST(Shards, ShardMayBeALinkThatLeavesTheFolder) {
  const ShardedFolder folder;
  const TemporaryFolder elsewhere;
  fs::rename(folder / "b.safetensors", elsewhere / "blob");
  fs::create_symlink(elsewhere / "blob", folder / "b.safetensors");
  EXPECT_EQ(io::Checkpoint::open(folder.path()).tensors()[0].problem, "");
}

TEST(Shards, MissingShardIsNamedWithItsIndex) {
  const ShardedFolder folder;
  fs::remove(folder / "b.safetensors");
  expect_refusal(folder.path(), kIndexName + ": its shard \"b.safetensors\": ");
  expect_refusal(folder.path(), "No such file or directory");
}

TEST(Shards, DamagedShardIsNamedWithItsIndex) {
  const ShardedFolder folder;
  write_raw(folder / "b.safetensors", "short");
  expect_refusal(folder.path(), "its shard \"b.safetensors\": ");
  expect_refusal(folder.path(), "size: found 5 bytes");
}

TEST(Shards, TensorMissingFromItsShardIsNamedWithBoth) {
  const ShardedFolder folder;
  folder.write_index(replaced(folder.index(), "\"b.safetensors\"}", "\"a.safetensors\"}"));
  write_raw(folder / "b.safetensors", safetensors("{}"));
  expect_refusal(folder.path(), "tensor \"" + kWeight +
                                    ".absmax\" is not in the shard \"a.safetensors\" that the "
                                    "index names");
}

TEST(Shards, TensorInTwoShardsIsRefused) {
  const ShardedFolder folder;
  fs::copy(folder / "b.safetensors", folder / "c.safetensors");
  folder.write_index(
      replaced(folder.index(), "\"weight_map\":{", R"("weight_map":{"other":"c.safetensors",)"));
  expect_refusal(folder.path(), "b.safetensors: tensor \"" + kWeight + ".absmax\" is also in ");
  expect_refusal(folder.path(), "/c.safetensors");
}

TEST(Shards, FolderWithoutAnIndexIsJoined) {
  const ShardedFolder folder;
  fs::remove(folder / kIndexName);
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder.path());
  ASSERT_EQ(checkpoint.tensors().size(), 1u);
  EXPECT_EQ(checkpoint.tensors()[0].problem, "");
}

TEST(Shards, DuplicateInAFolderWithoutAnIndexIsRefused) {
  const ShardedFolder folder;
  fs::remove(folder / kIndexName);
  fs::copy(folder / "a.safetensors", folder / "copy.safetensors");
  expect_refusal(folder.path(), "is also in ");
}

TEST(Shards, FolderWithOneFileIsThatFile) {
  const TemporaryFolder folder;
  fs::copy(data_file("quant_storage.safetensors"), folder / "model.safetensors");
  EXPECT_EQ(io::Checkpoint::open(folder.path()).tensors().size(), 3u);
}

TEST(Shards, IndexOfAGigabyteIsRefusedWithoutReadingIt) {
  const ShardedFolder folder;
  fs::resize_file(folder / kIndexName, std::uintmax_t{1} << 30);
  expect_refusal(folder.path(), "size: found 1073741824 bytes, wanted at most 268435456");
}

TEST(Shards, TotalSizeThatLiesIsIgnored) {
  const ShardedFolder folder;
  folder.write_index(replaced(folder.index(), "\"total_size\":1", "\"total_size\":-1e99"));
  EXPECT_EQ(io::Checkpoint::open(folder.path()).tensors().size(), 1u);
}

TEST(Shards, AHundredThousandShardsAreRefusedBeforeTheyAreOpened) {
  const TemporaryFolder folder;
  std::string index = R"({"weight_map":{"t":"a.safetensors")";
  for (int i = 0; i < 100'000; ++i) {
    index += fmt::format(R"(,"{}":"{}.safetensors")", i, i);
  }
  write_raw(folder / kIndexName, index + "}}");
  expect_refusal(folder.path(), "shards: found more than 10000");
}

TEST(Shards, MoreThanTenThousandWithoutAnIndexAreRefused) {
  const TemporaryFolder folder;
  write_raw(folder / "0.safetensors", safetensors("{}"));
  for (int i = 1; i <= 10'000; ++i) {
    fs::create_hard_link(folder / "0.safetensors", folder / fmt::format("{}.safetensors", i));
  }
  expect_refusal(folder.path(), "shards: found more than 10000, wanted at most that many");
}

TEST(Shards, MoreShardsThanDescriptorsAreFine) {
  const TemporaryFolder folder;
  constexpr int kShards = 1100;  // the usual limit of a process is 1024 descriptors
  for (int i = 0; i < kShards; ++i) {
    const std::string number = std::to_string(i);
    write_raw(
        folder / (number + ".safetensors"),
        safetensors(R"({"t)" + number + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"));
  }
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder.path());
  ASSERT_EQ(checkpoint.others().size(), 1u);
  EXPECT_EQ(checkpoint.others()[0].names.size(), kShards);
}

}  // namespace
}  // namespace nf4bench::testing
