#pragma once

#include <string>
#include <vector>

namespace nf4bench::cli {

// What is known of an option besides what CLI11 needs for parsing.
struct OptionFacts {
  enum class Value { kNone, kText, kInteger, kNumber };
  enum class Count {
    kOnce,
    kRepeated,  // any number of times, one value each
    kList       // the same, but a value may be a list separated by commas
  };
  Value value = Value::kText;
  Count count = Count::kOnce;
  bool is_common = false;  // in the short help
  bool names_files = false;
  bool may_be_number = false;          // a configuration file may give this text as a number
  std::vector<std::string> choices{};  // values to offer; empty when there is no list
  bool takes_only_choices = false;     // other values are refused
  std::string variable{};              // a second environment variable that sets it
};

}  // namespace nf4bench::cli
