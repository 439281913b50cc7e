// Claims about headers beyond the files that the reference readers were run on.

#include "io/safetensors/safetensors_header.hpp"

#include "io/raw_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace nf4bench::testing {
namespace {

const std::string kU8 = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

void expect_refusal(const std::string& file, const std::string& part) {
  const std::string message = refusal([&] { declared_tensors(file); });
  EXPECT_TRUE(message.starts_with("test.safetensors: ")) << message;
  expect_part(message, part);
}

std::string with_data(const std::string& header, std::size_t data) {
  return safetensors(header, std::string(data, '\0'));
}

struct Refused {
  std::string file;
  std::string part;  // of the message
};

void expect_refusals(const std::vector<Refused>& cases) {
  for (const Refused& each : cases) {
    SCOPED_TRACE(each.part);
    expect_refusal(each.file, each.part);
  }
}

TEST(SafetensorsHeader, LengthsPastTheLimitOrTheFileAreRefused) {
  expect_refusals({{safetensors("{}", {}, 100'000'001),
                    "header length: found 100000001 bytes, wanted at most 100000000"},
                   {safetensors("{}" + std::string(90, ' '), {}, 1000),
                    "header length: found 1000 bytes, wanted at most the 92 that the file has"}});
}

TEST(SafetensorsHeader, NamesThatAreNoTextAreRefusedAndShownEscaped) {
  expect_refusals(
      {{with_data("{\"\xc0\xaf\":" + kU8 + "}", 1), "ill-formed UTF-8"},  // overlong
       {with_data("{\"\xed\xa0\x80\":" + kU8 + "}", 1), "ill-formed UTF-8"},
       {with_data("{\"a\x1b[2J\":" + kU8 + "}", 1), "must be escaped to \\\\u001B"},
       {with_data(R"({"\u001b[2J\u0007":5})", 0), R"(tensor "\x1b[2J\x07": header entry)"}});
}

TEST(SafetensorsHeader, EscapedNulInANameDoesNotCutIt) {
  EXPECT_EQ(declared_tensors(with_data(R"({"a\u0000b":)" + kU8 + "}", 1)),
            std::string("a\0b U8 [1]", 10));
}

TEST(SafetensorsHeader, LongNameIsCutInTheMessage) {
  const std::string file = with_data("{\"" + std::string(1'000'000, 'n') + "\":5}", 0);
  EXPECT_LT(refusal([&] { declared_tensors(file); }).size(), 400u);
}

TEST(SafetensorsHeader, WhitespaceAroundTheDocumentIsAccepted) {
  EXPECT_EQ(declared_tensors(with_data(" \t\r\n{\"a\":" + kU8 + "} \n\t\r ", 1)), "a U8 [1]");
}

TEST(SafetensorsHeader, OtherDocumentsThanOneObjectAreRefused) {
  expect_refusals({{safetensors("5"), "header: found 5, wanted an object"},
                   {safetensors(R"("x")"), R"(found "x", wanted an object)"},
                   {safetensors("null"), "found null, wanted an object"},
                   {safetensors("{}{}"), "not valid JSON at byte 3"},
                   {safetensors("{/* hidden */}"), "not valid JSON"}});
}

// safetensors 0.8.0 was asked: it takes 125 lists in a tensor's field, and not 126.
TEST(SafetensorsHeader, NestsAsDeepAsTheReferenceAllows) {
  const auto nested = [](std::size_t depth) {
    return with_data(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":)" +
                         repeated("[", depth) + repeated("]", depth) + "}}",
                     1);
  };
  EXPECT_EQ(declared_tensors(nested(125)), "t U8 [1]");
  const std::string objects = repeated(R"({"x":)", 100'000) + "1" + repeated("}", 100'000);
  expect_refusals({{nested(126), "JSON nesting: found more than 127 levels"},
                   {with_data(R"({"t":{"x":)" + objects + "}}", 0), "more than 127 levels"}});
}

TEST(SafetensorsHeader, RepeatedKeysAreRefusedWhereverTheyAre) {
  const std::string start = R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],)";
  expect_refusals(
      {{with_data(start + R"("x":[{"y":1,"y":2}]}})", 1), R"(the key "y" occurs twice)"},
       {with_data(R"({"a":)" + kU8 + R"(,"\u0061":)" + kU8 + "}", 1),
        R"(the key "a" occurs twice)"},
       {with_data(start + R"("dtype":[1]}})", 1), "dtype: found an array"},
       {with_data(start + R"("dtype":{"a":1}}})", 1), "dtype: found an object"},
       {with_data(start + R"("shape":"U8"}})", 1), "shape: found \"U8\""},
       {with_data(start + R"("shape":[2]}})", 1), R"(the key "shape" occurs twice)"}});
  EXPECT_EQ(declared_tensors(with_data(
                R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":{"a":{"a":1}}}})", 1)),
            "a U8 [1]");  // in two objects
}

TEST(SafetensorsHeader, MetadataMustMapStringsToStrings) {
  expect_refusals(
      {{safetensors(R"({"__metadata__":[]})"), "header entry: found an array"},
       {safetensors(R"({"__metadata__":5})"), "header entry: found 5"},
       {safetensors(R"({"__metadata__":{"a":{}}})"), "__metadata__ value: found an object"},
       {safetensors(R"({"__metadata__":{"a":null}})"), "__metadata__ value: found null"}});
  EXPECT_EQ(declared_tensors(safetensors(R"({"__metadata__":{"a":"1","b":""}})")), "");
}

TEST(SafetensorsHeader, EntriesMustBeObjectsWithAllFields) {
  expect_refusals({{safetensors(R"({"t":null})"), R"(tensor "t": header entry: found null)"},
                   {safetensors(R"({"t":[]})"), R"(tensor "t": header entry: found an array)"},
                   {safetensors(R"({"t":true})"), R"(tensor "t": header entry: found a boolean)"},
                   // The reference reads it as the entry's fields in order.
                   {with_data(R"({"t":["U8",[1],[0,1]]})", 1), "header entry: found an array"},
                   {safetensors(R"({"t":{"dtype":"U8","data_offsets":[0,0]}})"),
                    R"(tensor "t": the field shape is missing)"},
                   {safetensors(R"({"t":{"dtype":"U8","shape":[0]}})"),
                    R"(tensor "t": the field data_offsets is missing)"}});
}

TEST(SafetensorsHeader, FieldsMustHaveTheirTypes) {
  expect_refusals(
      {{with_data(entry("BF16 ", "[1]", "[0,2]"), 2), R"(dtype: found "BF16 ")"},
       {with_data(entry("", "[1]", "[0,2]"), 2), R"(dtype: found "")"},
       {with_data(entry("U8", "1", "[0,1]"), 1), "shape: found 1, wanted a list"},
       {with_data(entry("U8", "null", "[0,1]"), 1), "shape: found null"},
       {with_data(entry("U8", "{}", "[0,1]"), 1), "shape: found an object"},
       {with_data(entry("U8", "[[1]]", "[0,1]"), 1), "shape: found an array"},
       {with_data(entry("U8", "[true]", "[0,1]"), 1), "shape: found a boolean"},
       {with_data(entry("U8", "[1]", R"(["0","1"])"), 1), R"(data_offsets: found "0")"},
       {with_data(entry("U8", "[1]", "[]"), 1), "data_offsets: found 0 values"},
       {with_data(entry("U8", "[1]", "5"), 1), "data_offsets: found 5, wanted a list"}});
}

TEST(SafetensorsHeader, RankOf32IsAcceptedAnd33IsNot) {
  const auto shape = [](int rank) {
    return "[1" + repeated(",1", static_cast<std::size_t>(rank - 1)) + "]";
  };
  EXPECT_NE(declared_tensors(with_data(entry("U8", shape(32), "[0,1]"), 1)), "");
  expect_refusal(with_data(entry("U8", shape(33), "[0,1]"), 1), "shape: found more than 32 values");
}

TEST(SafetensorsHeader, SizesThatDoNotFitTypeShapeOrFileAreRefused) {
  const auto two = [](const char* a, const char* b) {
    return fmt::format(R"({{"a":{{"dtype":"U8",{}}},"b":{{"dtype":"U8",{}}}}})", a, b);
  };
  expect_refusals(
      {// Products that wrap twice, and in bits.
       {with_data(entry("U8", "[4194305,4194305,211106198978564]", "[0,4]"), 4),
        "wanted a size that fits 64 bits"},
       {with_data(entry("F64", "[288230376151711744]", "[0,0]"), 0),
        "wanted a size that fits 64 bits"},
       {with_data(entry("F32", "[3]", "[0,16]"), 16),
        "data_offsets: found 16 bytes, wanted the 12 bytes of F32 [3]"},
       {with_data(entry("F32", "[5]", "[0,16]"), 16),
        "data_offsets: found 16 bytes, wanted the 20 bytes of F32 [5]"},
       {with_data(two(R"("shape":[2],"data_offsets":[0,2])", R"("shape":[2],"data_offsets":[3,5])"),
                  5),
        R"(tensor "b": data_offsets: found begin 3, wanted 2)"},
       {with_data(two(R"("shape":[3],"data_offsets":[0,3])", R"("shape":[2],"data_offsets":[2,4])"),
                  4),
        R"(tensor "b": data_offsets: found begin 2, wanted 3)"},
       {safetensors("{}", "PK\x03\x04"), "data: found 4 bytes, wanted 0"}});
}

TEST(SafetensorsHeader, EveryTypeOfTheReferenceHasItsSize) {
  const std::vector<std::pair<std::string, int>> bytes_of_eight = {
      {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
      {"I64", 64},        {"U64", 64}};
  for (const auto& [type, bytes] : bytes_of_eight) {
    const std::string offsets = "[0," + std::to_string(bytes) + "]";
    EXPECT_EQ(
        declared_tensors(with_data(entry(type, "[8]", offsets), static_cast<std::size_t>(bytes))),
        "t " + type + " [8]");
  }
}

// A reader with a quadratic path would need minutes for these; the limit, of processor time, is far
// from what it needs (0.2 s) and far from that.
TEST(SafetensorsHeader, TwoHundredThousandTensorsAreReadInLinearTime) {
  std::string header = "{";
  for (int i = 0; i < 200'000; ++i) {
    header += fmt::format(R"({}"tensor.{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
                          i == 0 ? "" : ",", i, i, i + 1);
  }
  const std::vector<std::byte> bytes = to_bytes(with_data(header + "}", 200'000));
  const std::clock_t start = std::clock();
  io::StoredTensors tensors;
  io::read_safetensors_header(io::ByteSource::in_memory("big", bytes), 0, tensors);
  EXPECT_EQ(tensors.index(), std::nullopt);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ASSERT_EQ(tensors.find("tensor." + std::to_string(i)), i);
  }
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 20);
  EXPECT_EQ(tensors.size(), 200'000u);
  EXPECT_EQ(tensors.find("tensor.200000"), std::nullopt);
}

TEST(SafetensorsHeader, BloatedHeaderIsReadInLinearTime) {
  const std::string bloat = repeated("[{},\"\\u00e9\",-1.5e3],", 400'000);
  const std::string file =
      with_data(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":[)" + bloat + "0]}}", 1);
  const std::clock_t start = std::clock();
  EXPECT_EQ(declared_tensors(file), "t U8 [1]");
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 20);
}

}  // namespace
}  // namespace nf4bench::testing
