#include "plan/run_options_json.hpp"

#include "error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace nf4bench::plan {
namespace {

using record::RunOptions;
using test::error_of;
using testing::HasSubstr;

// Gives a field a value that is not its default.
struct Change {
  void operator()(const char*, bool& value) const { value = !value; }
  void operator()(const char* name, std::string& value) const {
    value = std::string(name) + " \"\\\x1b\xc3\xa9";
  }
  template <class Value>
  void operator()(const char* name, Value& value) const {
    if constexpr (std::is_enum_v<Value>) {
      value = value == Value{0} ? Value{1} : Value{0};
    } else {
      value += static_cast<Value>(1) + value / 3;
    }
    static_cast<void>(name);
  }
  template <class Value>
  void operator()(const char* name, std::optional<Value>& value) const {
    (*this)(name, value.emplace());
  }
  template <class Value>
  void operator()(const char* name, std::vector<Value>& values) const {
    (*this)(name, values.emplace_back());
  }
};

TEST(RunOptionsJson, EveryOptionIsTheSameAfterwards) {
  RunOptions options;
  fields(options, Change());
  const std::string text = run_options_to_json(options);
  const RunOptions again = run_options_from_json(text, "x");
  EXPECT_EQ(run_options_to_json(again), text);
  EXPECT_EQ(again.precision, options.precision);
  EXPECT_EQ(again.seed, 57u);
  EXPECT_EQ(again.inputs.paths, options.inputs.paths);
  EXPECT_EQ(again.launches, std::vector{record::LaunchMode::kStream});
  EXPECT_FALSE(again.measure_stream_shapes);
}

TEST(RunOptionsJson, EveryFieldOfTheDescriptionIsThere) {
  RunOptions options;
  const std::string text = run_options_to_json(options);
  fields(options, [&](const char* name, const auto&) {
    EXPECT_THAT(text, HasSubstr('"' + std::string(name) + "\":"));
  });
}

TEST(RunOptionsJson, AWordThatNoOptionTakesIsRefusedWithItsPlace) {
  std::string text = run_options_to_json({});
  text.replace(text.find("\"cold\""), 6, "\"warm\"");
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { run_options_from_json(text, "options"); }),
              HasSubstr("options: caches[0]"));
}

TEST(RunOptionsJson, BytesThatAreNoTextAreRefused) {
  RunOptions options;
  options.inputs.paths = {"a\xff"};
  EXPECT_THROW(run_options_to_json(options), Error);
}

}  // namespace
}  // namespace nf4bench::plan
