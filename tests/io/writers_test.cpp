#include "io/writers/writers.hpp"

#include "error_of.hpp"
#include "io/byte_source.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/checkpoint/quant_state.hpp"
#include "io/raw_files.hpp"
#include "nf4/synthetic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nf4bench::testing {
namespace {

std::vector<nf4::Nf4Tensor> load_all(const io::Checkpoint& checkpoint) {
  std::vector<nf4::Nf4Tensor> tensors;
  for (const io::TensorEntry& entry : checkpoint.tensors())
    tensors.push_back(checkpoint.load(entry));
  return tensors;
}

void expect_same(const nf4::Nf4Tensor& a, const nf4::Nf4Tensor& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.elements, b.elements);
  EXPECT_EQ(a.blocksize, b.blocksize);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.absmax_kind, b.absmax_kind);
  EXPECT_EQ(a.packed, b.packed);
  EXPECT_EQ(a.absmax, b.absmax);
  EXPECT_EQ(a.absmax_codes, b.absmax_codes);
  EXPECT_EQ(a.nested_absmax, b.nested_absmax);
  EXPECT_EQ(a.nested_map, b.nested_map);
  EXPECT_EQ(a.nested_offset, b.nested_offset);
  EXPECT_EQ(std::signbit(a.nested_offset), std::signbit(b.nested_offset));
}

void expect_same(const std::vector<nf4::Nf4Tensor>& a, const std::vector<nf4::Nf4Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(a[i].name);
    expect_same(a[i], b[i]);
  }
}

std::vector<nf4::Nf4Tensor> synthetic_tensors() {
  std::vector<nf4::Nf4Tensor> tensors;
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kNested, nf4::AbsmaxKind::kPlain}) {
    for (const auto& shape : {std::vector<std::int64_t>{65}, {3, 21}, {2, 3, 64}}) {
      tensors.push_back(
          nf4::make_synthetic({.name = "layers." + std::to_string(tensors.size()) + ".weight",
                               .shape = shape,
                               .blocksize = 32,
                               .absmax_kind = kind,
                               .dtype = nf4::kOutputTypes[tensors.size() % 3]}));
    }
  }
  return tensors;
}

// What an Error of kind kOutput says.
std::string write_failure(const std::function<void()>& action) {
  const std::string error = test::error_of(ErrorKind::kOutput, action);
  EXPECT_FALSE(error.empty()) << "nothing was refused";
  return error;
}

io::OutputTensor bytes_tensor(const std::string& name, std::size_t promised, std::size_t produced) {
  return {name,
          "U8",
          {static_cast<std::int64_t>(promised)},
          static_cast<std::int64_t>(promised),
          [produced](const io::ByteSink& sink) {
            sink(std::vector<std::byte>(produced, std::byte{7}));
          }};
}

// The files were written by bitsandbytes, torch and the reference safetensors writer.
TEST(SafetensorsWriter, WritesTheBytesThatBitsandbytesAndTheReferenceWriterWrite) {
  for (const char* name : {"llama_layer", "dtypes", "blocksizes", "odd_shapes", "ranges"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    const auto original = data_file(std::string(name) + ".safetensors");
    const std::vector<nf4::Nf4Tensor> tensors = load_all(io::Checkpoint::open(original));
    io::write_nf4_safetensors(folder / "copy.safetensors", tensors);
    EXPECT_TRUE(read_raw(folder / "copy.safetensors") == read_raw(original));
  }
}

TEST(SafetensorsWriter, RoundTripsEveryKindOfTensor) {
  const TemporaryFolder folder;
  const std::vector<nf4::Nf4Tensor> tensors = synthetic_tensors();
  io::write_nf4_safetensors(folder / "x.safetensors", tensors);
  expect_same(load_all(io::Checkpoint::open(folder / "x.safetensors")), tensors);
}

TEST(NpyFolderWriter, RoundTripsEveryKindOfTensor) {
  const TemporaryFolder folder;
  const std::vector<nf4::Nf4Tensor> tensors = synthetic_tensors();
  io::write_nf4_npy_folder(folder / "made/deep", tensors);
  expect_same(load_all(io::Checkpoint::open(folder / "made/deep")), tensors);
}

TEST(NpyFolderWriter, HoldsWhatTheSafetensorsFileHolds) {
  const TemporaryFolder folder;
  const std::vector<nf4::Nf4Tensor> tensors =
      load_all(io::Checkpoint::open(data_file("llama_layer.safetensors")));
  io::write_nf4_npy_folder(folder.path(), tensors);
  expect_same(load_all(io::Checkpoint::open(folder.path())), tensors);
}

// numpy wrote the file in the repository.
TEST(NpyFolderWriter, WritesTheHeaderThatNumpyWrites) {
  const TemporaryFolder folder;
  const std::vector<nf4::Nf4Tensor> tensors =
      load_all(io::Checkpoint::open(data_file("llama_layer.safetensors")));
  io::write_nf4_npy_folder(folder.path(), tensors);
  const std::string name = tensors[0].name + ".nested_quant_map.npy";
  EXPECT_EQ(read_raw(folder / name), read_raw(data_file("dynamic_map_256.npy")));
}

TEST(SafetensorsWriter, NamesThatNeedEscapesSurvive) {
  const TemporaryFolder folder;
  nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {4, 64}});
  tensor.name = "a\"b\\c\n\x01\x7f/\xc3\xa9.weight";
  io::write_nf4_safetensors(folder / "x.safetensors", std::vector<nf4::Nf4Tensor>{tensor});
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder / "x.safetensors");
  ASSERT_EQ(checkpoint.tensors().size(), 1u);
  EXPECT_EQ(checkpoint.tensors()[0].name, tensor.name);
}

TEST(SafetensorsWriter, ListsWideTypesFirstAndThenNames) {
  const TemporaryFolder folder;
  const auto produce = [](const io::ByteSink& sink) { sink(std::vector<std::byte>(4)); };
  io::write_safetensors(folder / "x.safetensors", {{"b", "U8", {4}, 4, produce},
                                                   {"d", "BF16", {2}, 4, produce},
                                                   {"c", "F32", {1}, 4, produce},
                                                   {"a", "U8", {4}, 4, produce},
                                                   {"e", "F16", {2}, 4, produce}});
  EXPECT_EQ(declared_tensors(read_raw(folder / "x.safetensors")),
            "c F32 [1]; d BF16 [2]; e F16 [2]; a U8 [4]; b U8 [4]");
}

TEST(SafetensorsWriter, RefusesTwoTensorsOfOneName) {
  const TemporaryFolder folder;
  const std::string message = write_failure([&] {
    io::write_safetensors(folder / "x.safetensors",
                          {bytes_tensor("a", 1, 1), bytes_tensor("a", 2, 2)});
  });
  EXPECT_NE(message.find("two tensors are called \"a\""), std::string::npos) << message;
}

TEST(SafetensorsWriter, LeavesNoFileWhenATensorBreaksItsPromise) {
  const TemporaryFolder folder;
  const std::string message = write_failure(
      [&] { io::write_safetensors(folder / "x.safetensors", {bytes_tensor("a", 4, 3)}); });
  EXPECT_NE(message.find("tensor \"a\" produced 3 bytes and promised 4"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsWriter, KeepsTheOldFileWhenWritingFails) {
  const TemporaryFolder folder;
  write_raw(folder / "x.safetensors", "precious");
  write_failure(
      [&] { io::write_safetensors(folder / "x.safetensors", {bytes_tensor("a", 4, 3)}); });
  EXPECT_EQ(read_raw(folder / "x.safetensors"), "precious");
}

TEST(SafetensorsWriter, RefusesNamesThatAreNotUtf8AndTypesThatDoNotExist) {
  const TemporaryFolder folder;
  const auto write = [&](const io::OutputTensor& tensor) {
    return write_failure([&] { io::write_safetensors(folder / "x.safetensors", {tensor}); });
  };
  EXPECT_NE(write(bytes_tensor("a\xff", 1, 1)).find("\"a\\xff\" is not UTF-8"), std::string::npos);
  io::OutputTensor tensor = bytes_tensor("a", 1, 1);
  tensor.dtype = "NF4";
  EXPECT_NE(write(tensor).find("safetensors has no type \"NF4\""), std::string::npos);
  tensor = bytes_tensor("a", 1, 1);
  tensor.shape = {2};
  EXPECT_NE(write(tensor).find("its shape does not fill the 1 bytes"), std::string::npos);
  tensor.shape = {-1};
  EXPECT_NE(write(tensor).find("its shape does not fill"), std::string::npos);
}

TEST(SafetensorsWriter, NamesTheFolderThatIsNotThere) {
  const TemporaryFolder folder;
  const std::string message = write_failure(
      [&] { io::write_safetensors(folder / "missing/x.safetensors", {bytes_tensor("a", 1, 1)}); });
  EXPECT_NE(message.find("missing/x.safetensors"), std::string::npos) << message;
}

TEST(Writers, RefuseAnOffsetThatJsonCannotHold) {
  const TemporaryFolder folder;
  nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {4, 64}});
  tensor.nested_offset = std::numeric_limits<float>::quiet_NaN();
  const std::vector<nf4::Nf4Tensor> tensors = {tensor};
  for (const auto& message :
       {write_failure([&] { io::write_nf4_safetensors(folder / "x.safetensors", tensors); }),
        write_failure([&] { io::write_nf4_npy_folder(folder / "x", tensors); })}) {
    EXPECT_NE(message.find("nested_offset is nan"), std::string::npos) << message;
  }
}

TEST(NpyFolderWriter, RefusesTwoTensorsOfOneName) {
  const TemporaryFolder folder;
  const std::vector<nf4::Nf4Tensor> twins(2, nf4::make_synthetic({.shape = {4, 64}}));
  const std::string message = write_failure([&] { io::write_nf4_npy_folder(folder / "x", twins); });
  EXPECT_NE(message.find("two tensors are called \"weight\""), std::string::npos) << message;
}

TEST(NpyFolderWriter, RefusesATensorThatIsCalledAsAnothersPart) {
  const TemporaryFolder folder;
  std::vector<nf4::Nf4Tensor> tensors(2, nf4::make_synthetic({.shape = {4, 64}}));
  tensors[1].name = tensors[0].name + ".absmax";
  const std::string message =
      write_failure([&] { io::write_nf4_npy_folder(folder / "x", tensors); });
  EXPECT_NE(message.find("two tensors are called \"weight.absmax\""), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
}

TEST(NpyFolderWriter, NamesTheFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  write_raw(folder / "file", "in the way");
  const std::string message =
      write_failure([&] { io::write_nf4_npy_folder(folder / "file/x", {}); });
  EXPECT_NE(message.find("file/x: the folder cannot be made: Not a directory"), std::string::npos)
      << message;
}

TEST(NpyFolderWriter, RefusesNamesThatAreNoFileNames) {
  const TemporaryFolder folder;
  nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {4, 64}});
  for (const std::string& name :
       {std::string("../a"), std::string("a/b"), std::string("a\0b", 3), std::string(260, 'a')}) {
    tensor.name = name;
    const std::string message = write_failure(
        [&] { io::write_nf4_npy_folder(folder / "x", std::vector<nf4::Nf4Tensor>{tensor}); });
    EXPECT_NE(message.find("cannot be a file name"), std::string::npos) << message;
  }
}

// The left sides are what Python 3.11 prints for these float32 values.
TEST(QuantState, PrintsOffsetsAsPythonDoes) {
  const std::vector<std::pair<std::string, float>> known = {
      {"0.031807661056518555", 0.031807661056518555f},
      {"9.500000146545062e-07", 9.5e-07f},
      {"9.999999747378752e-06", 1e-5f},
      {"9.999999747378752e-05", 1e-4f},
      {"999999986991104.0", 1e15f},
      {"1.0000000272564224e+16", 1e16f},
      {"1.0", 1.0f},
      {"0.0", 0.0f},
      {"-0.0", -0.0f},
      {"1.401298464324817e-45", std::numeric_limits<float>::denorm_min()},
      {"3.4028234663852886e+38", std::numeric_limits<float>::max()},
      {"16777216.0", 16777216.0f}};
  for (const auto& [text, value] : known) {
    nf4::Nf4Tensor tensor;
    tensor.shape = {2, 64};
    tensor.nested_offset = value;
    const std::string wanted =
        R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [2, 64], )"
        R"("nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": )" +
        text + "}";
    EXPECT_EQ(io::write_quant_state(tensor), wanted);
    const float read_back = io::read_quant_state("test", wanted).nested_offset;
    EXPECT_EQ(read_back, value);
    EXPECT_EQ(std::signbit(read_back), std::signbit(value));
  }
}

}  // namespace
}  // namespace nf4bench::testing
