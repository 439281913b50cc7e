#include "error_of.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/raw_files.hpp"
#include "nf4/reference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace nf4bench::testing {
namespace {

namespace fs = std::filesystem;

const std::string kWeight = "s2x3x64.weight";

// The arrays of one weight of data/npy, nested, under the names that people give them.
class RawDump : public ::testing::Test {
 protected:
  RawDump() {
    const std::vector<std::pair<std::string, std::string>> names = {
        {"", "weight"},
        {".absmax", "absmax"},
        {".quant_map", "code"},
        {".nested_absmax", "nested_absmax"},
        {".nested_quant_map", "nested_quant_map"}};
    for (const auto& [suffix, name] : names) {
      fs::copy(data_file("npy") / (kWeight + suffix + ".npy"), folder / (name + ".npy"));
    }
    original = load(io::Checkpoint::open(data_file("npy")), kWeight);
    dump = {.name = "weight",
            .shape = {2, 3, 64},
            .blocksize = 64,
            .dtype = nf4::OutputType::kFloat16,
            .weight = folder / "weight.npy",
            .absmax = folder / "absmax.npy",
            .quant_map = folder / "code.npy",
            .nested_absmax = folder / "nested_absmax.npy",
            .nested_map = folder / "nested_quant_map.npy",
            .nested_offset = original.nested_offset};
  }

  static nf4::Nf4Tensor load(const io::Checkpoint& checkpoint, const std::string& name) {
    for (const io::TensorEntry& entry : checkpoint.tensors()) {
      if (entry.name == name) return checkpoint.load(entry);
    }
    throw std::runtime_error("no tensor " + name);
  }

  static std::vector<std::byte> decoded(const nf4::Nf4Tensor& tensor) {
    return nf4::reference_dequantize(tensor, nf4::OutputType::kFloat32);
  }

  // The only problem of the dump.
  std::string problem() const {
    const io::Checkpoint checkpoint = io::Checkpoint::open_dumps({dump});
    EXPECT_EQ(checkpoint.tensors().size(), 1u);
    return checkpoint.tensors().front().problem;
  }

  TemporaryFolder folder;
  nf4::Nf4Tensor original;
  io::RawDump dump;
};

TEST_F(RawDump, DecodesAsTheSameArraysUnderTheirOwnNames) {
  const nf4::Nf4Tensor tensor = load(io::Checkpoint::open_dumps({dump}), "weight");
  EXPECT_EQ(tensor.shape, original.shape);
  EXPECT_EQ(tensor.dtype, original.dtype);
  EXPECT_EQ(tensor.nested_offset, original.nested_offset);
  EXPECT_EQ(tensor.source, (folder / "weight.npy").native());
  EXPECT_EQ(decoded(tensor), decoded(original));
}

TEST_F(RawDump, NeedsNoCodebook) {
  dump.quant_map.clear();
  EXPECT_EQ(decoded(load(io::Checkpoint::open_dumps({dump}), "weight")), decoded(original));
}

TEST_F(RawDump, TakesTheOffsetFromAFile) {
  dump.offset_file = folder / "offset.npy";
  write_raw(dump.offset_file, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
                                  floats({original.nested_offset})));
  dump.nested_offset = 99.0f;
  const io::Checkpoint checkpoint = io::Checkpoint::open_dumps({dump});
  EXPECT_EQ(decoded(load(checkpoint, "weight")), decoded(original));
  EXPECT_THAT(checkpoint.files().files, ::testing::Contains(dump.offset_file));
}

TEST_F(RawDump, RefusesAnOffsetFileThatHoldsNoFiniteNumber) {
  dump.offset_file = folder / "offset.npy";
  write_raw(dump.offset_file, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
                                  floats({std::numeric_limits<float>::infinity()})));
  expect_part(refusal([&] { io::Checkpoint::open_dumps({dump}); }),
              "offset.npy: offset: found inf, wanted a finite number");
  write_raw(dump.offset_file,
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", floats({1.0f, 2.0f})));
  expect_part(refusal([&] { io::Checkpoint::open_dumps({dump}); }),
              "offset.npy: offset: found F32 [2], wanted one F32");
}

TEST_F(RawDump, IsJudgedAsStrictlyAsACheckpoint) {
  dump.shape = {2, 3, 65};
  expect_part(problem(),
              "tensor \"weight\": packed weight: found 192 bytes (U8 [192, 1]), wanted "
              "195 for shape 2x3x65");
  dump.shape = {2, 3, 64};
  dump.blocksize = 32;
  expect_part(problem(), "absmax: found U8 [6], wanted U8 [12]");
  dump.blocksize = 64;
  dump.nested_absmax = folder / "code.npy";
  expect_part(problem(), "nested_absmax: found F32 [16], wanted F32 [1]");
}

TEST_F(RawDump, RefusesACodebookThatIsNotNf4) {
  std::string bytes = read_raw(dump.quant_map);
  bytes[bytes.size() - 1] = '\x40';
  write_raw(dump.quant_map, bytes);
  expect_part(problem(), "quant_map: found ");
}

TEST_F(RawDump, RefusesPlainScalesOfAnotherType) {
  dump.nested_absmax.clear();
  dump.nested_map.clear();
  expect_part(problem(), "absmax: found U8 codes beside a quant state without nested_ fields");
  expect_part(problem(), "(of --raw: nested_absmax=, nested_map= and offset=)");
}

TEST_F(RawDump, NeverWaitsForAFifo) {
  dump.absmax = folder / "fifo.npy";
  ASSERT_EQ(::mkfifo(dump.absmax.c_str(), 0600), 0);
  expect_part(problem(), "fifo.npy: file type: found a FIFO, wanted a regular file");
}

TEST_F(RawDump, MissingFileIsNamed) {
  dump.absmax = folder / "none.npy";
  expect_part(problem(), "absmax cannot be read: ");
  expect_part(problem(), "none.npy: cannot be opened");
}

TEST_F(RawDump, TwoOfOneNameAreAUsageError) {
  const std::string error = test::error_of(ErrorKind::kUsage, [&] {
    io::Checkpoint::open_dumps({dump, dump});
  });
  expect_part(error, "two dumps hold the tensor \"weight");
  expect_part(error, "name=");
}

TEST_F(RawDump, ListsItsFiles) {
  const io::Checkpoint checkpoint = io::Checkpoint::open_dumps({dump});
  EXPECT_THAT(checkpoint.files().files,
              ::testing::UnorderedElementsAre(dump.weight, dump.absmax, dump.quant_map,
                                              dump.nested_absmax, dump.nested_map));
}

TEST(CheckpointFiles, OfAnIndexAreTheIndexAndItsShards) {
  const fs::path folder = data_file("sharded");
  const io::CheckpointFiles files = io::Checkpoint::open(folder).files();
  EXPECT_EQ(files.index, folder / "model.safetensors.index.json");
  EXPECT_THAT(files.files,
              ::testing::UnorderedElementsAre(folder / "model-00001-of-00002.safetensors",
                                              folder / "model-00002-of-00002.safetensors"));
}

}  // namespace
}  // namespace nf4bench::testing
