// .npy claims beyond the files that numpy was run on, and folders of .npy files.

#include "io/npy/npy.hpp"

#include "io/checkpoint/checkpoint.hpp"
#include "io/checkpoint/npy_folder.hpp"
#include "io/raw_files.hpp"
#include "io/stored_tensors.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace nf4bench::testing {
namespace {

namespace fs = std::filesystem;

io::NpyHeader read(const std::string& file) {
  const std::vector<std::byte> bytes = to_bytes(file);
  return io::read_npy_header(io::ByteSource::in_memory("x.npy", bytes));
}

void expect_refusal(const std::string& file, const std::string& part) {
  const std::string message = refusal([&] { read(file); });
  EXPECT_TRUE(message.starts_with("x.npy: ")) << message;
  expect_part(message, part);
}

std::string dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

std::string array(const std::string& descr, const std::string& shape, std::size_t bytes) {
  return npy(dict(descr, shape), std::string(bytes, '\0'));
}

// numpy wrote this file.
TEST(Npy, ReadsWhatNumpyWrote) {
  const io::NpyHeader header =
      io::read_npy_header(io::ByteSource::open(data_file("dynamic_map_256.npy")));
  EXPECT_EQ(header.type, io::ElementType::kF32);
  EXPECT_EQ(header.shape, std::vector<std::uint64_t>{256});
  EXPECT_EQ(header.data_begin, 128u);
  EXPECT_EQ(header.data_bytes, 1024u);
}

TEST(Npy, VersionsOtherThanOneToThreeAreRefused) {
  expect_refusal(npy(dict("|u1", "(1,)"), "x", 0),
                 ".npy version: found 0.0, wanted 1.0, 2.0 or 3.0");
  std::string file = array("|u1", "(1,)", 1);
  file[7] = 1;
  expect_refusal(file, ".npy version: found 1.1");
}

TEST(Npy, EveryTruncationIsRefused) {
  const std::string file = array("<f4", "(2, 2)", 16);
  ASSERT_NO_THROW(read(file));
  for (std::size_t length = 0; length < file.size(); ++length) {
    SCOPED_TRACE(length);
    refusal([&] { read(file.substr(0, length)); });
  }
}

TEST(Npy, MissingKeysAreNamed) {
  expect_refusal(npy("{'fortran_order': False, 'shape': (1,)}", "x"), "the key 'descr' is missing");
  expect_refusal(npy("{'descr': '|u1', 'shape': (1,)}", "x"), "the key 'fortran_order' is missing");
  expect_refusal(npy("{'descr': '|u1', 'fortran_order': False}", "x"),
                 "the key 'shape' is missing");
}

TEST(Npy, AnythingButADictIsRefused) {
  expect_refusal(npy("('|u1', False, (1,))", "x"), "header: found");
  expect_refusal(npy(dict("|u1", "(1,)") + " 5", "x"), "wanted nothing after the dict");
  expect_refusal(npy("{" + dict("|u1", "(1,)") + "}", "x"), "wanted a quoted key");
  expect_refusal(npy("{'descr' '|u1'}", "x"), "wanted a colon after the key");
}

TEST(Npy, KeysMayComeInAnyOrderAndWithBlanks) {
  EXPECT_EQ(
      read(npy("{ 'shape' : ( 3 , ) ,\n'fortran_order':True,\t\"descr\":'|u1' }", "abc")).shape,
      std::vector<std::uint64_t>{3});
}

TEST(Npy, IntegersAreDecimalAndFitSixtyFourBits) {
  expect_refusal(array("|u1", "(18446744073709551616,)", 1), "wanted a decimal integer");
  expect_refusal(array("|u1", "(100000000000000000000000,)", 1), "wanted a decimal integer");
  expect_refusal(array("|u1", "(01,)", 1), "wanted a decimal integer");
  expect_refusal(array("|u1", "(+1,)", 1), "wanted a decimal integer");
  expect_refusal(array("|u1", "(1 1)", 1), "wanted a comma or )");
  expect_refusal(array("|u1", "(,)", 1), "wanted a decimal integer");
  expect_refusal(array("|u1", "((1,),)", 1), "wanted a decimal integer");
  expect_refusal(array("|u1", "(9223372036854775807, 9, 0)", 0), "wanted a size that fits 64 bits");
}

TEST(Npy, PythonTwosLongSuffixEndsWithVersionTwo) {
  EXPECT_NO_THROW(read(npy(dict("|u1", "(1L,)"), "x", 2)));
  expect_refusal(npy(dict("|u1", "(1L,)"), "x", 3), "wanted a comma or )");
}

TEST(Npy, HeaderOfTenThousandBytesIsTheLongest) {
  const auto padded = [](std::size_t length) {
    std::string text = dict("|u1", "(1,)");
    text.resize(length, ' ');
    return "\x93NUMPY" + std::string("\x01\x00", 2) + little_endian(length, 2) + text + "x";
  };
  EXPECT_NO_THROW(read(padded(10'000)));
  expect_refusal(padded(10'001), ".npy header length: found 10001 bytes, wanted at most 10000");
}

TEST(Npy, FortranOrderOfOneLongDimensionIsTheSameAsC) {
  for (const char* shape : {"()", "(4,)", "(4, 1)", "(1, 4, 1)"}) {
    const std::string text =
        std::string("{'descr': '|u1', 'fortran_order': True, 'shape': ") + shape + "}";
    EXPECT_NO_THROW(read(npy(text, std::string(shape) == "()" ? "x" : "abcd"))) << shape;
  }
}

TEST(Npy, TypesThatHoldBfloat16AreTakenForIt) {
  for (const char* descr : {"<V2", "|V2", "<u2"}) {
    EXPECT_EQ(read(array(descr, "(2,)", 4)).type, io::ElementType::kBf16) << descr;
  }
}

TEST(Npy, BigEndianAndForeignTypesAreRefused) {
  expect_refusal(array(">u2", "(2,)", 4), "wanted a little-endian type");
  expect_refusal(array("=f4", "(1,)", 4), "descr: found \"=f4\"");
  expect_refusal(array("<V3", "(1,)", 3), "descr: found \"<V3\"");
  expect_refusal(array("|V1", "(1,)", 1), "descr: found \"|V1\"");
  expect_refusal(array("<M8[ns]", "(1,)", 8), "descr: found \"<M8[ns]\"");
  expect_refusal(array("", "(1,)", 1), "descr: found \"\"");
}

TEST(Npy, TypeWithAControlCharacterIsShownEscaped) {
  expect_refusal(array("\x1b[2J", "(1,)", 1), R"(descr: found "\x1b[2J")");
  expect_refusal(array("\xc3\xa9", "(1,)", 1), "descr: found");
  expect_refusal(array(std::string("<f4\0", 4), "(1,)", 4), "descr: found");
}

// A copy of the sample folder that a test may damage.
class NpyFolder {
 public:
  NpyFolder() { fs::copy(data_file("npy"), folder_.path(), fs::copy_options::recursive); }
  const fs::path& path() const { return folder_.path(); }
  fs::path operator/(const std::string& name) const { return folder_ / name; }

  void rewrite(const std::string& file, const std::string& from, const std::string& to) const {
    write_raw(folder_ / file, replaced(read_raw(folder_ / file), from, to));
  }

  std::string problem_of(const std::string& tensor) const {
    const io::Checkpoint checkpoint = io::Checkpoint::open(path());
    for (const io::TensorEntry& entry : checkpoint.tensors()) {
      if (entry.name == tensor) return entry.problem;
    }
    ADD_FAILURE() << "no tensor " << tensor;
    return "";
  }

 private:
  TemporaryFolder folder_;
};

struct Damage {
  std::string tensor;
  std::function<void(const NpyFolder&)> change;
  std::string problem;
};

TEST(NpyFolder, WhatIsDamagedIsTheProblemOfItsTensorOnly) {
  const std::string state = "s2x3x64.weight.quant_state.json";
  for (const Damage& each : std::vector<Damage>{
           {"s5x77.weight",
            [](const NpyFolder& f) { fs::resize_file(f / "s5x77.weight.absmax.npy", 134); },
            "absmax cannot be read: "},
           {"s5x77.weight",
            [](const NpyFolder& f) { fs::resize_file(f / "s5x77.weight.absmax.npy", 134); },
            "s5x77.weight.absmax.npy: data: found 6 bytes, wanted the 7 bytes of |u1 [7]"},
           {"s5x77.weight",
            [&](const NpyFolder& f) { fs::copy(f / state, f / "s5x77.weight.quant_state.json"); },
            "quant_state: found both quant_state.bitsandbytes__nf4 and quant_state.json"},
           {"s2x3x64.weight", [&](const NpyFolder& f) { fs::remove(f / state); },
            "quant_state: found nothing, wanted " + state + ", which says {"},
           {"s2x3x64.weight",
            [&](const NpyFolder& f) { fs::resize_file(f / state, std::uintmax_t{1} << 36); },
            "quant_state: found 68719476736 bytes, wanted at most 65536"},
           {"s5x77.weight", [](const NpyFolder& f) { f.rewrite("s5x77.weight.npy", "|u1", "|i1"); },
            "packed weight: found I8 [193, 1], wanted U8, BF16, F16 or F32"},
           {"s2x3x64.weight",
            [](const NpyFolder& f) {
              f.rewrite("s2x3x64.weight.npy", "|u1", "<c8");
              f.rewrite("s2x3x64.weight.npy", "(192, 1)", "(24, 1) ");
            },
            "packed weight: found C64 [24, 1], wanted U8, BF16, F16 or F32"}}) {
    SCOPED_TRACE(each.problem);
    const NpyFolder folder;
    each.change(folder);
    expect_part(folder.problem_of(each.tensor), each.problem);
    EXPECT_EQ(folder.problem_of(each.tensor == "s5x77.weight" ? "s2x3x64.weight" : "s5x77.weight"),
              "");
  }
}

TEST(NpyFolder, ArrayThatNoTensorNeedsMayBeAnything) {
  const NpyFolder folder;
  write_raw(folder / "labels.npy", array("<U8", "(1,)", 32));
  write_raw(folder / "input_ids.npy", array("<i8", "(2,)", 16));
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.tensors().size(), 2u);
  ASSERT_EQ(checkpoint.others().size(), 2u);
  EXPECT_EQ(checkpoint.others()[0].kind, "int64");
  EXPECT_EQ(checkpoint.others()[1].kind, "unreadable .npy");
  EXPECT_EQ(checkpoint.others()[1].names.front(), "labels");
}

TEST(NpyFolder, Fp4StateInJsonIsNamedAsFp4) {
  const NpyFolder folder;
  folder.rewrite("s2x3x64.weight.quant_state.json", "nf4", "fp4");
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.tensors().size(), 1u);
  ASSERT_EQ(checkpoint.others().size(), 1u);
  EXPECT_EQ(checkpoint.others()[0].kind, "FP4");
}

TEST(NpyFolder, PackedWeightStoredAsBfloat16IsRead) {
  for (const char* descr : {"<V2", "<u2", "<f2"}) {
    const NpyFolder folder;
    folder.rewrite("s2x3x64.weight.npy", "|u1", descr);
    folder.rewrite("s2x3x64.weight.npy", "(192, 1)", "(96, 1) ");
    const io::Checkpoint checkpoint = io::Checkpoint::open(folder.path());
    ASSERT_EQ(checkpoint.tensors()[0].problem, "") << descr;
    EXPECT_EQ(checkpoint.load(checkpoint.tensors()[0]).packed.size(), 192u);
  }
}

TEST(NpyFolder, ArrayReplacedBetweenOpenAndLoadIsAnError) {
  const NpyFolder folder;
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder.path());
  const std::string weight = read_raw(folder / "s5x77.weight.npy");
  fs::remove(folder / "s5x77.weight.npy");
  write_raw(folder / "s5x77.weight.npy", weight + "more");
  expect_part(refusal([&] { checkpoint.load(checkpoint.tensors()[1]); }),
              "s5x77.weight.npy: the file changed since its header was read");
}

TEST(NpyFolder, OneArrayAloneIsNoInput) {
  expect_part(refusal([] { io::Checkpoint::open(data_file("npy") / "s5x77.weight.npy"); }),
              "it looks like a NumPy .npy array: give the folder that holds all its arrays");
}

TEST(NpyFolder, OfMoreThanFourMillionArraysIsRefusedBeforeAnyIsOpened) {
  const std::vector<fs::path> files(io::kMaxStoredTensors + 1);
  expect_part(refusal([&] { io::open_npy_folder("folder", files); }),
              "folder: arrays: found 4000001, wanted at most 4000000");
}

TEST(NpyFolder, TwoFilesForOneTensorAreRefused) {
  const NpyFolder folder;
  fs::copy(folder / "s5x77.weight.absmax.npy", folder / "s2x3x64.weight.quant_state.json.npy");
  expect_part(refusal([&] { io::Checkpoint::open(folder.path()); }),
              "two files hold the tensor \"s2x3x64.weight.quant_state.json\"");
}

}  // namespace
}  // namespace nf4bench::testing
