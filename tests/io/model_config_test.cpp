#include "io/writers/model_config.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nf4bench::testing {
namespace {

std::string decoded(const std::string& text, const std::string& wanted = "") {
  return io::decoded_config("config.json", text, {.wanted = wanted, .decoded = "float16"});
}

TEST(ModelConfig, LosesItsQuantizationWhereverItStands) {
  EXPECT_EQ(decoded(R"({"quantization_config": {"a": [1, "}"]}, "b": 2})"), R"({ "b": 2})");
  EXPECT_EQ(decoded(R"({"a": 1, "quantization_config": {"b": 2}})"), R"({"a": 1})");
  EXPECT_EQ(decoded(R"({"a": 1, "quantization_config": null, "b": 2})"), R"({"a": 1, "b": 2})");
  EXPECT_EQ(decoded(R"({"quantization_config": {}})"), "{}");
  EXPECT_EQ(decoded(R"({"quantization_config": 1, "quantization_config": 2})"), "{}");
  EXPECT_EQ(decoded(R"({"a": 1, "quantization_config": 1, "quantization_config": 2})"),
            R"({"a": 1})");
  EXPECT_EQ(decoded(R"({"text_config": {"x": 1, "quantization_config": {}}})"),
            R"({"text_config": {"x": 1}})");
}

TEST(ModelConfig, KeepsEveryOtherByte) {
  const std::string text =
      "{\n\t\"eps\": 1e-05, \"limit\": [0.0, Infinity], \"s\": \"\\\"quantization_config\\\": \", "
      "\"big\": 12345678901234567890123, \"n\": {}, \"e\": [ ] }\n";
  EXPECT_EQ(decoded(text), text);
}

TEST(ModelConfig, NamesATypeThatWeightsCanHave) {
  EXPECT_EQ(decoded(R"({"torch_dtype": "bfloat16"})"), R"({"torch_dtype": "bfloat16"})");
  EXPECT_EQ(decoded(R"({"dtype": "uint8"})"), R"({"dtype": "float16"})");
  EXPECT_EQ(decoded(R"({"torch_dtype": null})"), R"({"torch_dtype": null})");
  EXPECT_EQ(decoded(R"({"torch_dtype": "bfloat16", "x": {"dtype": "float16"}})", "float32"),
            R"({"torch_dtype": "float32", "x": {"dtype": "float32"}})");
}

TEST(ModelConfig, IsRefusedWhenItIsNoObject) {
  for (const std::string text :
       {"", "[]", "null", "{", "{\"a\"", "{\"a\":", "{\"a\": }", "{\"a\": 1} x", "{\"a\": \"1}",
        "{1: 2}", "{\"a\": [1}", "\xef\xbb\xbf{}"}) {
    EXPECT_THROW(decoded(text), Error) << text;
  }
  std::string deep = "{\"a\": ";
  for (int i = 0; i < 100000; ++i) deep += '[';
  EXPECT_THROW(decoded(deep), Error);
}

}  // namespace
}  // namespace nf4bench::testing
