// Bad and odd files against the verdicts of the reference readers, safetensors 0.8.0 and numpy
// 2.5.2: the same verdict, or a deviation that docs/formats.md lists.

#include "io/npy/npy.hpp"
#include "io/raw_files.hpp"
#include "io/reference_cases.hpp"
#include "io/stored_tensors.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace nf4bench::testing {
namespace {

std::string declared_array(const std::string& file) {
  const std::vector<std::byte> bytes = to_bytes(file);
  const io::NpyHeader header = io::read_npy_header(io::ByteSource::in_memory("test.npy", bytes));
  return std::string(io::facts(header.type).spelling) + " " +
         io::dimensions_to_string(header.shape);
}

void expect_refusal(const ReferenceCase& wanted, const std::string& message,
                    const std::string& file_name) {
  EXPECT_TRUE(message.starts_with(file_name)) << message;
  expect_part(message, wanted.wanted);
}

std::string name_of(const ::testing::TestParamInfo<ReferenceCase>& info) {
  return info.param.name;
}

class SafetensorsVerdict : public ::testing::TestWithParam<ReferenceCase> {};

TEST_P(SafetensorsVerdict, AgreesOrDeviatesAsDocumented) {
  const ReferenceCase& wanted = GetParam();
  if (wanted.verdict == Verdict::kBothAccept) {
    EXPECT_EQ(declared_tensors(wanted.file), wanted.wanted);
  } else {
    expect_refusal(wanted, refusal([&] { declared_tensors(wanted.file); }), "test.safetensors: ");
  }
}

class NpyVerdict : public ::testing::TestWithParam<ReferenceCase> {};

TEST_P(NpyVerdict, AgreesOrDeviatesAsDocumented) {
  const ReferenceCase& wanted = GetParam();
  if (wanted.verdict == Verdict::kBothAccept) {
    EXPECT_EQ(declared_array(wanted.file), wanted.wanted);
  } else {
    expect_refusal(wanted, refusal([&] { declared_array(wanted.file); }), "test.npy: ");
  }
}

INSTANTIATE_TEST_SUITE_P(Reference, SafetensorsVerdict, ::testing::ValuesIn(safetensors_cases()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Reference, NpyVerdict, ::testing::ValuesIn(npy_cases()), name_of);

TEST(ReferenceVerdicts, CoverEveryFileThatTheReferencesWereRunOn) {
  EXPECT_EQ(safetensors_cases().size(), 70u);
  EXPECT_EQ(npy_cases().size(), 47u);
}

TEST(ReferenceVerdicts, DeviateExactlyWhereTheDocumentationSaysSo) {
  std::set<std::string> deviations;
  for (const auto& cases : {safetensors_cases(), npy_cases()}) {
    for (const ReferenceCase& c : cases) {
      if (c.verdict == Verdict::kOnlyWeRefuse) deviations.insert(c.name);
    }
  }
  const std::set<std::string> documented = {
      "dup",   "dup_dtype", "dup_meta_key", "rank70k",               // safetensors
      "trail", "dupkey",    "hex",          "underscore", "struct",  // .npy
      "fort",  "be",        "m1",           "S4",         "U1",
  };
  EXPECT_EQ(deviations, documented);
}

}  // namespace
}  // namespace nf4bench::testing
