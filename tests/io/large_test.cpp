// Inputs that are large in one way or another, as sparse files or in memory.

#include "base/memory.hpp"
#include "io/golden_pieces.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace nf4bench::testing {
namespace {

namespace fs = std::filesystem;

// A file whose only tensor has `shape`, 2^`log2_elements` elements in blocks of 4096. Its scales
// and its packed weight come last and are holes, so that the file takes no room on the disk.
fs::path write_sparse(const TemporaryFolder& folder, const std::string& shape, int log2_elements) {
  const std::uint64_t elements = std::uint64_t{1} << log2_elements;
  StateDict entries = plain();
  set_state(entries, kPlain, "\"blocksize\": 64", "\"blocksize\": 4096");
  set_state(entries, kPlain, "[128, 320]", shape);
  remove(entries, kPlain);
  remove(entries, kPlain + ".absmax");
  std::uint64_t end = 0;
  for (const RawTensor& entry : entries) end += entry.bytes.size();
  const std::string small = to_safetensors(entries);
  std::string header = small.substr(8, small.size() - 8 - end - 1);
  const auto add_hole = [&](const std::string& name, const std::string& dtype, std::uint64_t count,
                            std::uint64_t bytes) {
    header += fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name,
                          dtype, count, end, end + bytes);
    end += bytes;
  };
  const std::string data = small.substr(small.size() - end);
  add_hole(kPlain + ".absmax", "F32", elements / 4096, elements / 1024);
  add_hole(kPlain, "U8", elements / 2, elements / 2);
  write_raw(folder / "a.safetensors", safetensors(header + "}", data));
  fs::resize_file(folder / "a.safetensors", 8 + header.size() + 1 + end);
  return folder / "a.safetensors";
}

TEST(Large, CountsPastThirtyTwoBitsAreKept) {
  const TemporaryFolder folder;
  const io::Checkpoint checkpoint =
      io::Checkpoint::open(write_sparse(folder, "[65536, 65536]", 32));
  ASSERT_EQ(checkpoint.tensors().size(), 1u);
  const io::TensorEntry& entry = checkpoint.tensors().front();
  EXPECT_EQ(entry.problem, "");
  EXPECT_EQ(entry.elements, std::int64_t{1} << 32);
  EXPECT_EQ(entry.packed_bytes, std::int64_t{1} << 31);
}

TEST(Large, TensorBeyondTheMachinesMemoryIsRefusedWithWhatItNeeds) {
  constexpr int kLog2Elements = 39;  // 256 GiB of packed weight
  const std::int64_t memory = usable_memory_bytes();
  if (memory > std::int64_t{1} << (kLog2Elements - 1)) GTEST_SKIP() << "the tensor fits here";
  const TemporaryFolder folder;
  const io::Checkpoint checkpoint =
      io::Checkpoint::open(write_sparse(folder, "[524288, 1048576]", kLog2Elements));
  ASSERT_EQ(checkpoint.tensors().size(), 1u);
  ASSERT_EQ(checkpoint.tensors().front().problem, "");
  const std::string message = refusal([&] { checkpoint.load(checkpoint.tensors().front()); });
  EXPECT_NE(message.find("memory: found " + std::to_string(memory) +
                         " bytes that may be used, wanted 275414777920 for this tensor alone"),
            std::string::npos)
      << message;
}

// 110,592 quantized tensors are what a model of 128 experts has; a tenth shows a quadratic path as
// well, which would need hours. A loaded machine needs a second.
TEST(Large, TenThousandQuantizedTensorsAreListedInLinearTime) {
  constexpr int kTensors = 11'059;
  StateDict entries;
  const StateDict one = golden("odd_shapes.safetensors", "s3x5.weight");
  for (int i = 0; i < kTensors; ++i) {
    for (const RawTensor& entry : one) {
      entries.push_back(entry);
      entries.back().name = "model.layers.0.mlp.experts." + std::to_string(i) + "." + entry.name;
    }
  }
  std::vector<std::byte> bytes = to_bytes(to_safetensors(entries));
  const auto start = std::chrono::steady_clock::now();
  const io::Checkpoint checkpoint =
      io::Checkpoint::open_memory("big.safetensors", std::move(bytes));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  ASSERT_EQ(checkpoint.tensors().size(), static_cast<std::size_t>(kTensors));
  for (int i = 0; i < kTensors; ++i) {
    const io::TensorEntry& entry = checkpoint.tensors()[static_cast<std::size_t>(i)];
    ASSERT_EQ(entry.name, "model.layers.0.mlp.experts." + std::to_string(i) + ".s3x5.weight");
    ASSERT_EQ(entry.problem, "");
  }
}

}  // namespace
}  // namespace nf4bench::testing
