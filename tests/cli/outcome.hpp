#pragma once

#include "cli/process.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace nf4bench::test {

// Matches a process that ended with `exit_code`; with `words`, they match what it wrote to stderr.
inline auto Ends(int exit_code) {
  return testing::Field("exit_code", &Outcome::exit_code, exit_code);
}
template <class Words>
auto Ends(int exit_code, const Words& words) {
  return testing::AllOf(Ends(exit_code), testing::Field("err", &Outcome::err, words));
}

// Matches one that wrote what `words` match to stdout.
template <class Words>
auto Prints(const Words& words) {
  return testing::Field("out", &Outcome::out, words);
}

inline void PrintTo(const Outcome& outcome, std::ostream* stream) {
  *stream << "exit code " << outcome.exit_code << ", stdout:\n"
          << outcome.out << "\nstderr:\n"
          << outcome.err;
}

// What a process that succeeded wrote to stdout.
inline nlohmann::json json_of(const Outcome& outcome) {
  EXPECT_THAT(outcome, Ends(0));
  return nlohmann::json::parse(outcome.out, nullptr, false);
}

// The same of one that wrote nothing to stderr.
inline nlohmann::json silent_json_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.err, "");
  return json_of(outcome);
}

}  // namespace nf4bench::test
