#include "io/raw_files.hpp"
#include "io/reference_cases.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace nf4bench::testing {
namespace {

std::string z(std::size_t count) {
  return std::string(count, '\0');
}

// A header of one tensor t.
std::string t(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

constexpr Verdict kAccept = Verdict::kBothAccept;
constexpr Verdict kRefuse = Verdict::kBothRefuse;
constexpr Verdict kStricter = Verdict::kOnlyWeRefuse;

const std::string kI32 = t("I32", "[2,2]", "[0,16]");

std::vector<ReferenceCase> length_cases() {
  return {
      {"ok", safetensors(kI32, z(16)), kAccept, "t I32 [2, 2]"},
      {"len_lie_big", safetensors(kI32, z(16), std::uint64_t{1} << 40), kRefuse,
       "header length: found 1099511627776 bytes, wanted at most 100000000"},
      {"len_max", safetensors(kI32, z(16), UINT64_MAX), kRefuse,
       "header length: found 18446744073709551615 bytes"},
      {"len_m9", safetensors(kI32, z(16), UINT64_MAX - 7), kRefuse,
       "header length: found 18446744073709551608 bytes"},
      {"len_zero", safetensors("", z(16), 0), kRefuse, "not valid JSON at byte"},
      {"hole", safetensors(t("I32", "[2,2]", "[16,32]"), z(32)), kRefuse,
       R"(tensor "t": data_offsets: found begin 16, wanted 0, where the tensor before it ends)"},
      {"trailing", safetensors(kI32, z(16) + "polyglot"), kRefuse,
       "data: found 24 bytes, wanted 16: the tensors do not cover the whole file"},
      {"short", safetensors(kI32, z(14)), kRefuse,
       "data_offsets: found [0, 16], wanted an end within the 14 bytes"},
      {"overlap",
       safetensors(R"({"a":{"dtype":"U8","shape":[16],"data_offsets":[0,16]},)"
                   R"("b":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}})",
                   z(16)),
       kRefuse, "data_offsets: found begin 0, wanted 16"},
      {"trunc7", std::string("\x02\0\0\0\0\0\0", 7), kRefuse, "size: found 7 bytes"},
      {"zero_bytes", "", kRefuse, "size: found 0 bytes"},
      {"trunc_blob", safetensors(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1])", z(1)),
       kRefuse, "not valid JSON at byte"},
      {"extra_top_scalar",
       safetensors(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":5})", z(1)), kRefuse,
       R"(tensor "x": header entry: found 5, wanted an object)"},
      {"array_top", safetensors("[]"), kRefuse, "header: found an array, wanted an object"},
      {"empty", safetensors("{}"), kAccept, ""},
      {"unsorted",
       safetensors(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},)"
                   R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                   z(4)),
       kAccept, "b U8 [2]; a U8 [2]"},
      {"misaligned_f32",
       safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                   R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                   z(5)),
       kAccept, "a U8 [1]; b F32 [1]"},
      {"zero_reuse",
       safetensors(R"({"z":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                   R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("z2":{"dtype":"F32","shape":[0,9],"data_offsets":[4,4]}})",
                   z(4)),
       kAccept, "z U8 [0]; a U8 [4]; z2 F32 [0, 9]"},
  };
}

std::vector<ReferenceCase> shape_cases() {
  const std::string integer = "wanted an integer from 0 to 18446744073709551615";
  const std::string too_big = "wanted a size that fits 64 bits";
  return {
      {"shape_ovf", safetensors(t("I32", "[2,18446744073709551614]", "[0,16]"), z(16)), kRefuse,
       "shape: found [2, 18446744073709551614], " + too_big},
      {"shape_ovf_wrap", safetensors(t("I32", "[4611686018427387908]", "[0,16]"), z(16)), kRefuse,
       "shape: found [4611686018427387908], " + too_big},
      {"shape_ovf_wrap2", safetensors(t("U8", "[4294967296,4294967296,16]", "[0,0]")), kRefuse,
       too_big},
      {"neg_shape", safetensors(t("I32", "[-2,-2]", "[0,16]"), z(16)), kRefuse,
       "shape: found -2, " + integer},
      {"float_shape", safetensors(t("I32", "[2.0,2]", "[0,16]"), z(16)), kRefuse,
       "shape: found 2.0, " + integer},
      {"exp_shape", safetensors(t("I32", "[2e0,2]", "[0,16]"), z(16)), kRefuse,
       "shape: found 2e0, " + integer},
      {"scalar", safetensors(t("F32", "[]", "[0,4]"), z(4)), kAccept, "t F32 []"},
      {"zero", safetensors(t("F32", "[0,5]", "[0,0]")), kAccept, "t F32 [0, 5]"},
      {"zero_ovf", safetensors(t("F32", "[0,9223372036854775807,9]", "[0,0]")), kAccept,
       "t F32 [0, 9223372036854775807, 9]"},
      {"ovf_then_zero", safetensors(t("F32", "[9223372036854775807,9,0]", "[0,0]")), kRefuse,
       too_big},
      {"rank9", safetensors(t("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), z(1)), kAccept,
       "t U8 [1, 1, 1, 1, 1, 1, 1, 1, 1]"},
      {"rank70k", safetensors(t("U8", fmt::format("[{}1]", repeated("1,", 69999)), "[0,1]"), z(1)),
       kStricter, "shape: found more than 32 values, wanted at most 32"},
      {"neg_zero", safetensors(t("U8", "[-0]", "[0,0]")), kRefuse, "shape: found -0, " + integer},
      {"plus", safetensors(t("U8", "[+1]", "[0,1]"), z(1)), kRefuse, "not valid JSON at byte"},
      {"lead0", safetensors(t("U8", "[01]", "[0,1]"), z(1)), kRefuse, "not valid JSON at byte"},
      {"str_shape", safetensors(t("U8", R"(["1"])", "[0,1]"), z(1)), kRefuse,
       R"(shape: found "1", )" + integer},
      {"u64_shape0", safetensors(t("U8", "[18446744073709551616]", "[0,0]")), kRefuse,
       "shape: found 18446744073709551616, " + integer},
      {"neg_off", safetensors(t("I32", "[2,2]", "[-16,0]"), z(16)), kRefuse,
       "data_offsets: found -16, " + integer},
      {"off_rev", safetensors(t("I32", "[2,2]", "[16,0]"), z(16)), kRefuse,
       "data_offsets: found [16, 0], wanted begin <= end"},
      {"off_huge",
       safetensors(t("U8", "[18446744073709551615]", "[0,18446744073709551615]"), z(16)), kRefuse,
       "data_offsets: found [0, 18446744073709551615], wanted an end within the 16 bytes"},
      {"off_huge2",
       safetensors(t("U8", "[16]", "[18446744073709551600,18446744073709551616]"), z(16)), kRefuse,
       "data_offsets: found 18446744073709551616, " + integer},
      {"off3", safetensors(t("U8", "[1]", "[0,1,2]"), z(1)), kRefuse,
       "data_offsets: found 3 values, wanted 2"},
      {"off1", safetensors(t("U8", "[1]", "[0]"), z(1)), kRefuse,
       "data_offsets: found 1 values, wanted 2"},
      {"f4_odd", safetensors(t("F4", "[3]", "[0,2]"), z(2)), kRefuse,
       "shape: found [3], wanted a size that fills whole bytes"},
      {"f4_ok", safetensors(t("F4", "[4]", "[0,2]"), z(2)), kAccept, "t F4 [4]"},
  };
}

std::vector<ReferenceCase> json_cases() {
  const std::string u8 = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  const std::string nested = R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":)";
  const std::string long_name(1000000, 'a');
  return {
      {"deep", safetensors(repeated("[", 100000) + repeated("]", 100000)), kRefuse,
       "header: found an array, wanted an object"},
      {"deepobj", safetensors(repeated(R"({"a":)", 50000) + "1" + repeated("}", 50000)), kRefuse,
       "JSON nesting: found more than 127 levels"},
      {"utf8", safetensors("{\"\xff\":" + u8 + "}", z(1)), kRefuse, "ill-formed UTF-8"},
      {"nulname", safetensors("{\"a" + z(1) + "b\":" + u8 + "}", z(1)), kRefuse, "NUL character"},
      {"esc", safetensors(R"({"\u0061":)" + u8 + "}", z(1)), kAccept, "a U8 [1]"},
      {"surr", safetensors(R"({"\ud800":)" + u8 + "}", z(1)), kRefuse, "surrogate"},
      {"unkdtype", safetensors(t("Q4_0", "[2]", "[0,2]"), z(2)), kRefuse,
       R"(tensor "t": dtype: found "Q4_0", wanted a type that safetensors defines)"},
      {"extra_field",
       safetensors(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":[1,{}]}})", z(1)),
       kAccept, "t U8 [1]"},
      {"missing_dtype", safetensors(R"({"t":{"shape":[1],"data_offsets":[0,1]}})", z(1)), kRefuse,
       R"(tensor "t": the field dtype is missing)"},
      {"meta_nonstr", safetensors(R"({"__metadata__":{"a":1}})"), kRefuse,
       "__metadata__ value: found 1, wanted a string"},
      {"leadws", safetensors("  {}"), kAccept, ""},
      {"trailnul", safetensors("{}" + z(3)), kRefuse, "a NUL character at byte 2"},
      {"nan_meta", safetensors(R"({"__metadata__":{"a":NaN}})"), kRefuse, "found NaN or Infinity"},
      {"bigname", safetensors("{\"" + long_name + "\":" + u8 + "}", z(1)), kAccept,
       long_name + " U8 [1]"},
      {"dup",
       safetensors(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                   R"("a":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}})",
                   z(16)),
       kStricter, R"(the key "a" occurs twice)"},
      {"dup_dtype",
       safetensors(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                   std::string("\0\0\x80\x3f", 4)),
       kStricter, R"(the key "w" occurs twice)"},
      {"dup_field",
       safetensors(R"({"w":{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", z(4)),
       kRefuse, R"(the key "dtype" occurs twice)"},
      {"dup_meta", safetensors(R"({"__metadata__":{"a":"1"},"__metadata__":{"a":"2"}})"), kRefuse,
       R"(the key "__metadata__" occurs twice)"},
      {"dup_meta_key", safetensors(R"({"__metadata__":{"a":"1","a":"2"}})"), kStricter,
       R"(the key "a" occurs twice)"},
      {"meta_null", safetensors(R"({"__metadata__":null})"), kAccept, ""},
      {"bom", safetensors("\xef\xbb\xbf{}"), kRefuse, "a byte order mark"},
      {"null_dtype", safetensors(R"({"t":{"dtype":null,"shape":[1],"data_offsets":[0,1]}})", z(1)),
       kRefuse, "dtype: found null"},
      {"lc_dtype", safetensors(t("u8", "[1]", "[0,1]"), z(1)), kRefuse, R"(dtype: found "u8")"},
      {"nul_mid", safetensors("{}" + z(1) + "{}"), kRefuse, "a NUL character at byte 2"},
      {"empty_name", safetensors(R"({"":)" + u8 + "}", z(1)), kAccept, " U8 [1]"},
      {"deep127", safetensors(nested + repeated("[", 100) + repeated("]", 100) + "}}", z(1)),
       kAccept, "t U8 [1]"},
      {"deep200", safetensors(nested + repeated("[", 200) + repeated("]", 200) + "}}", z(1)),
       kRefuse, "JSON nesting: found more than 127 levels"},
  };
}

}  // namespace

std::vector<ReferenceCase> safetensors_cases() {
  std::vector<ReferenceCase> cases = length_cases();
  for (const auto& more : {shape_cases(), json_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace nf4bench::testing
