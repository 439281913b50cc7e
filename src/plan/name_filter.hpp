#pragma once

#include <optional>
#include <regex>
#include <string>

namespace nf4bench::plan {

// A compiled --tensor option: which tensor names it selects.
class NameFilter {
 public:
  // An ECMAScript regular expression that may match anywhere in a name; an empty one selects all.
  // Throws Error(kUsage) for a malformed one.
  explicit NameFilter(const std::string& regex);

  bool selects(const std::string& name) const;

 private:
  std::optional<std::regex> regex_;
};

}  // namespace nf4bench::plan
