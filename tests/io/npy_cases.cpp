#include "io/raw_files.hpp"
#include "io/reference_cases.hpp"

#include <fmt/format.h>

#include <string>

namespace nf4bench::testing {
namespace {

std::string z(std::size_t count) {
  return std::string(count, '\0');
}

// The dict of a .npy header as numpy writes it.
std::string dict(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

constexpr Verdict kAccept = Verdict::kBothAccept;
constexpr Verdict kRefuse = Verdict::kBothRefuse;
constexpr Verdict kStricter = Verdict::kOnlyWeRefuse;

const std::string kOk = dict("<f4", "False", "(2, 2)");

// An array of float32 with this shape and 16 bytes of data.
std::string shaped(const std::string& shape) {
  return npy(dict("<f4", "False", shape), z(16));
}

// An array of this type with four elements' worth of shape and 16 bytes of data.
std::string typed(const std::string& descr, const std::string& shape = "(4,)") {
  return npy(dict(descr, "False", shape), z(16));
}

// The valid file with other bytes in the place of its preamble.
std::string with_preamble(const std::string& preamble) {
  return preamble + npy(kOk, z(16)).substr(10);
}

std::vector<ReferenceCase> container_cases() {
  const std::string magic = "\x93NUMPY";
  const std::string version_1("\x01\x00", 2);
  const std::string version_2("\x02\x00", 2);
  return {
      {"ok", npy(kOk, z(16)), kAccept, "F32 [2, 2]"},
      {"short", npy(kOk, z(15)), kRefuse, "data: found 15 bytes, wanted the 16 bytes"},
      {"trail", npy(kOk, z(16) + "JUNK"), kStricter, "data: found 20 bytes, wanted the 16 bytes"},
      {"hl_lie", with_preamble(magic + version_1 + "\xff\xff"), kRefuse,
       ".npy header length: found 65535 bytes"},
      {"v2_4g", magic + version_2 + "\xff\xff\xff\xff" + npy(kOk, z(16), 2).substr(12), kRefuse,
       ".npy header length: found 4294967295 bytes"},
      {"v3", npy(kOk, z(16), 3), kAccept, "F32 [2, 2]"},
      {"v9", npy(kOk, z(16), 9), kRefuse, ".npy version: found 9.0"},
      {"badmagic", replaced(npy(kOk, z(16)), "NUMPY", "NUMPX"), kRefuse, "not a .npy file"},
      {"emptyhdr", magic + version_1 + z(2), kRefuse, "found the end of the header"},
      {"tiny", magic + "\x01", kRefuse, "cut short"},
      {"empty", "", kRefuse, "not a .npy file"},
      {"hdr10001", npy(kOk + std::string(10000, ' '), z(16)), kRefuse,
       ".npy header length: found 10102 bytes, wanted at most 10000"},
      {"nonl", magic + version_1 + little_endian(kOk.size(), 2) + kOk + z(16), kAccept,
       "F32 [2, 2]"},
  };
}

std::vector<ReferenceCase> grammar_cases() {
  const std::string start = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  return {
      {"deep", npy(start + repeated("(", 20000) + repeated(")", 20000) + "}", z(16)), kRefuse,
       ".npy header length"},
      {"extra", npy(start + "(2,2), 'x': 1}", z(16)), kRefuse, R"(header key: found "x")"},
      {"dupkey",
       npy("{'descr': '<f4', 'descr': '|u1', 'fortran_order': False, 'shape': (2,2)}", z(16)),
       kStricter, "the key 'descr' occurs twice"},
      {"hex", npy(start + "(0x2,2)}", z(16)), kStricter, R"(shape: found "x2,2)})"},
      {"underscore", npy(dict("<f4", "False", "(1_0,)"), z(40)), kStricter, R"(shape: found "_0,)"},
      {"py2L", npy(start + "(2L, 2L), }", z(16)), kAccept, "F32 [2, 2]"},
      {"dq", npy(R"({"descr": "<f4", "fortran_order": False, "shape": (2, 2)})", z(16)), kAccept,
       "F32 [2, 2]"},
      {"call",
       npy("{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': (2,2)}", z(16)),
       kRefuse, R"(descr: found "__import__)"},
      {"struct", npy("{'descr': [('a','<f4')], 'fortran_order': False, 'shape': (4,), }", z(16)),
       kStricter, R"(descr: found "[('a')"},
      {"fort", npy(dict("<f4", "True", "(2, 2)"), z(16)), kStricter,
       "fortran_order: found True with shape [2, 2], wanted C order"},
      {"fort1", npy(dict("<f4", "1", "(2, 2)"), z(16)), kRefuse, R"(fortran_order: found "1,)"},
  };
}

std::vector<ReferenceCase> shape_cases() {
  return {
      {"huge", shaped("(1073741824, 1073741824)"), kRefuse,
       "data: found 16 bytes, wanted the 4611686018427387904 bytes"},
      {"ovf", shaped("(4611686018427387904, 4)"), kRefuse, "wanted a size that fits 64 bits"},
      {"ovf0", shaped("(4294967296, 4294967296)"), kRefuse, "wanted a size that fits 64 bits"},
      {"neg", shaped("(-1, -4)"), kRefuse, R"(shape: found "-1, -4)"},
      {"neg1", shaped("(-1,)"), kRefuse, R"(shape: found "-1,)"},
      {"nocomma", shaped("(4)"), kRefuse, "wanted a tuple: (4,), not (4)"},
      {"bool_dim", shaped("(True, 4)"), kRefuse, R"(shape: found "True, 4)"},
      {"float_dim", shaped("(2.0, 2)"), kRefuse, R"(shape: found ".0, 2)"},
      {"list_shape", shaped("[2, 2]"), kRefuse, R"(shape: found "[2, 2])"},
      {"scalar", npy(dict("<f4", "False", "()"), z(4)), kAccept, "F32 []"},
      {"zerodim", npy(dict("<f4", "False", "(0, 5)"), ""), kAccept, "F32 [0, 5]"},
      {"zero_huge", npy(dict("<f4", "False", "(0, 9223372036854775807, 9)"), ""), kRefuse,
       "wanted a size that fits 64 bits"},
      {"rank65", npy(dict("|u1", "False", fmt::format("({})", repeated("1,", 65))), z(1)), kRefuse,
       "wanted at most 32 dimensions"},
  };
}

std::vector<ReferenceCase> type_cases() {
  return {
      {"obj", npy(dict("|O", "False", "(1,)"), "cos\nsystem\n(S'id'\ntR."), kRefuse,
       R"(descr: found "|O", wanted numbers (Python objects would need pickle)"},
      {"be", typed(">f4", "(2, 2)"), kStricter,
       R"(descr: found ">f4", wanted a little-endian type)"},
      {"isz", typed("<f4294967297", "(2, 2)"), kRefuse, R"(descr: found "<f4294967297")"},
      {"V2", typed("<V2", "(8,)"), kAccept, "BF16 [8]"},
      {"m1", npy(dict("m8[ns]", "False", "(1,)"), z(8)), kStricter, R"(descr: found "m8[ns]")"},
      {"S4", typed("|S4"), kStricter, R"(descr: found "|S4")"},
      {"U1", typed("<U1"), kStricter, R"(descr: found "<U1")"},
      {"c8", typed("<c8", "(2,)"), kAccept, "C64 [2]"},
      {"f2", typed("<f2", "(8,)"), kAccept, "F16 [8]"},
      {"descr_nul", typed("<f4\\x00"), kRefuse, "wanted a string without escapes"},
  };
}

}  // namespace

std::vector<ReferenceCase> npy_cases() {
  std::vector<ReferenceCase> cases = container_cases();
  for (const auto& more : {grammar_cases(), shape_cases(), type_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace nf4bench::testing
