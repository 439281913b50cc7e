// Which tensors of a file belong together, and what the others are.

#include "error_of.hpp"
#include "io/golden_pieces.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>
#include <vector>

namespace nf4bench::testing {
namespace {

TEST(Entries, ExtremeScalesAreLoadedAsTheyAre) {
  const std::vector<float> extremes = {std::numeric_limits<float>::infinity(),
                                       -std::numeric_limits<float>::infinity(),
                                       -1.0f,
                                       -0.0f,
                                       std::numeric_limits<float>::denorm_min(),
                                       std::numeric_limits<float>::max(),
                                       7e4f};
  StateDict entries = plain();
  std::string& bytes = at(entries, kPlain + ".absmax").bytes;
  bytes.replace(0, extremes.size() * 4, floats(extremes));
  const io::TensorEntry entry = only_entry(entries);
  ASSERT_EQ(entry.problem, "");
  const nf4::Nf4Tensor tensor = open(entries).load(entry);
  EXPECT_EQ(floats({tensor.absmax.begin(), tensor.absmax.begin() + 7}), floats(extremes));
}

TEST(Entries, PackedWeightsAtOddAddressesAreRead) {
  StateDict entries = nested();
  entries.insert(entries.begin(), {"pad", "U8", {3}, "abc"});
  const io::Checkpoint checkpoint = open(entries);
  const nf4::Nf4Tensor tensor = checkpoint.load(checkpoint.tensors().front());
  EXPECT_EQ(tensor.nested_map, open(nested()).load(only_entry(nested())).nested_map);
  EXPECT_EQ(tensor.packed, open(nested()).load(only_entry(nested())).packed);
}

TEST(Entries, OneDamagedTensorDoesNotHideTheOthers) {
  StateDict entries = nested();
  const StateDict good = plain();
  entries.insert(entries.end(), good.begin(), good.end());
  remove(entries, kNested + ".absmax");
  const io::Checkpoint checkpoint = open(entries);
  ASSERT_EQ(checkpoint.tensors().size(), 2u);
  EXPECT_EQ(checkpoint.tensors()[0].problem, "");
  EXPECT_NE(checkpoint.tensors()[1].problem, "");
  EXPECT_EQ(checkpoint.load(checkpoint.tensors()[0]).name, kPlain);
  EXPECT_EQ(refusal([&] { checkpoint.load(checkpoint.tensors()[1]); }),
            checkpoint.tensors()[1].problem);
}

TEST(Entries, NameThatTheInputLacksIsAUsageError) {
  const io::Checkpoint checkpoint = open(nested());
  io::TensorEntry stranger = checkpoint.tensors().front();
  stranger.name = "stranger";
  EXPECT_EQ(test::error_of(ErrorKind::kUsage, [&] { checkpoint.load(stranger); }),
            "the input has no NF4 tensor \"stranger\"");
}

// "a.weight" and "a.weight.weight" end in the same suffixes.
TEST(Entries, NamesThatContinueOneAnotherAreNotMixedUp) {
  StateDict entries;
  for (const std::string name : {"a.weight", "a.weight.weight"}) {
    for (RawTensor entry : name == "a.weight" ? nested() : plain()) {
      entry.name = name + entry.name.substr((name == "a.weight" ? kNested : kPlain).size());
      entries.push_back(entry);
    }
  }
  const io::Checkpoint checkpoint = open(entries);
  ASSERT_EQ(checkpoint.tensors().size(), 2u);
  EXPECT_EQ(checkpoint.tensors()[0].name, "a.weight");
  EXPECT_EQ(checkpoint.tensors()[0].absmax_kind, nf4::AbsmaxKind::kNested);
  EXPECT_EQ(checkpoint.tensors()[1].name, "a.weight.weight");
  EXPECT_EQ(checkpoint.tensors()[1].absmax_kind, nf4::AbsmaxKind::kPlain);
  EXPECT_EQ(checkpoint.tensors()[0].problem + checkpoint.tensors()[1].problem, "");
}

TEST(Entries, WeightsAreListedInNaturalOrder) {
  StateDict entries;
  for (const std::string layer : {"layers.10.", "layers.9.", "layers.1."}) {
    for (RawTensor entry : nested()) {
      entry.name = layer + entry.name;
      entries.push_back(entry);
    }
  }
  const io::Checkpoint checkpoint = open(entries);
  std::vector<std::string> names;
  for (const io::TensorEntry& entry : checkpoint.tensors()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"layers.1.s5x77.weight", "layers.9.s5x77.weight",
                                             "layers.10.s5x77.weight"}));
  for (const io::TensorEntry& entry : checkpoint.tensors())
    EXPECT_EQ(checkpoint.load(entry).name, entry.name);
}

TEST(Entries, SurviveTheMoveOfTheirCheckpoint) {
  io::Checkpoint first = open(nested());
  const io::TensorEntry entry = first.tensors().front();
  io::Checkpoint second = open(plain());
  second = std::move(first);
  const io::Checkpoint third = std::move(second);
  EXPECT_EQ(third.tensors().size(), 1u);
  EXPECT_EQ(third.load(entry).name, kNested);
}

TEST(Entries, SizesOfTheSideTensorsAreAddedUp) {
  const io::TensorEntry entry = only_entry(nested());
  EXPECT_EQ(entry.packed_bytes, 193);
  EXPECT_EQ(entry.state_bytes, 7 + 4 + 1024 + 64);
}

TEST(Entries, EscapesInNamesAreShownEscaped) {
  StateDict entries = nested();
  for (RawTensor& entry : entries) entry.name = "\x1b[2J" + entry.name;
  remove(entries, "\x1b[2J" + kNested + ".absmax");
  expect_problem(entries,
                 "tensor \"\\x1b[2Js5x77.weight\": absmax: found nothing, wanted a tensor "
                 "\\x1b[2Js5x77.weight.absmax");
}

RawTensor stub(const std::string& name, const std::string& dtype = "U8") {
  return {name, dtype, {0}, ""};
}

struct Kind {
  std::string kind;
  std::size_t count;
  std::string example;
  bool operator==(const Kind&) const = default;
};

std::vector<Kind> kinds_of(const StateDict& entries) {
  std::vector<Kind> kinds;
  const io::Checkpoint checkpoint = open(entries);
  EXPECT_TRUE(checkpoint.tensors().empty());
  for (const io::OtherTensors& other : checkpoint.others())
    kinds.push_back({other.kind, other.names.size(), std::string(other.names.front())});
  return kinds;
}

void PrintTo(const Kind& kind, std::ostream* stream) {
  *stream << kind.kind << " x" << kind.count << " " << kind.example;
}

TEST(OtherKinds, LlmInt8IsNamed) {
  EXPECT_EQ(kinds_of({stub("m.weight", "I8"), stub("m.SCB", "F32"), stub("m.weight_format"),
                      stub("n.weight", "I8"), stub("n.SCB", "F32")}),
            (std::vector<Kind>{{"LLM.int8", 2, "m.weight"}}));
}

TEST(OtherKinds, GptqIsNamed) {
  EXPECT_EQ(kinds_of({stub("m.qweight", "I32"), stub("m.qzeros", "I32"), stub("m.scales", "F16"),
                      stub("m.g_idx", "I32")}),
            (std::vector<Kind>{{"GPTQ", 1, "m.qweight"}}));
  EXPECT_EQ(kinds_of({stub("m.qweight", "I32"), stub("m.qzeros", "I32"), stub("m.scales", "F16")}),
            (std::vector<Kind>{{"GPTQ or AWQ", 1, "m.qweight"}}));
}

TEST(OtherKinds, UnquantizedTensorsAreCountedByType) {
  EXPECT_EQ(kinds_of({stub("norm.weight", "BF16"), stub("lm_head.weight", "BF16"),
                      stub("t5.weight", "F8_E4M3"), stub("x"), stub("scales", "F16")}),
            (std::vector<Kind>{{"bfloat16", 2, "norm.weight"},
                               {"float16", 1, "scales"},
                               {"float8_e4m3", 1, "t5.weight"},
                               {"uint8", 1, "x"}}));
}

TEST(OtherKinds, AbsmaxOfAnotherLibraryIsNoNf4Tensor) {
  EXPECT_EQ(kinds_of({stub("observer.absmax", "F32"), stub(".absmax", "F32"), stub(kStateNf4)}),
            (std::vector<Kind>{{"float32", 2, "observer.absmax"}, {"uint8", 1, kStateNf4}}));
}

TEST(OtherKinds, NothingAtAllIsNoError) {
  EXPECT_TRUE(kinds_of({}).empty());
}

}  // namespace
}  // namespace nf4bench::testing
