#pragma once

#include "base/error.hpp"

#include <string>
#include <vector>

namespace nf4bench {

// For "did you mean": up to three names that resemble `word`, nearest first. Names resemble each
// other when their edit distance is small or one contains the other. When all of them resemble it,
// only the nearest are returned.
std::vector<std::string> nearest_names(const std::string& word,
                                       const std::vector<std::string>& names);

// " Did you mean a, b?" with the names nearest to `word`; empty when none or all are near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& names);

// Error(kUsage): the option, what was found, what is allowed and the nearest allowed word.
Error not_one_of(const std::string& option, const std::string& word,
                 const std::vector<std::string>& allowed);

}  // namespace nf4bench
