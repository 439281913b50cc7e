#pragma once

#include <string>
#include <vector>

namespace nf4bench::cli {

// What the declaration of an option says that the parser itself has no use for.
struct OptionFacts {
  enum class Value { kNone, kText, kInteger, kNumber };
  enum class Count {
    kOnce,
    kRepeated,  // any number of times, one value each
    kList       // the same, and a value may be a comma-separated list
  };
  Value value = Value::kText;
  Count count = Count::kOnce;
  bool names_files = false;
  bool may_be_number = false;          // a text that a configuration file may give as a number
  std::vector<std::string> choices{};  // values that are offered; empty when there is no such list
  bool takes_only_choices = false;     // any other value is refused
  std::string variable{};              // an environment variable besides the usual one
};

}  // namespace nf4bench::cli
