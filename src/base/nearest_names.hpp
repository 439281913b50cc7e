#pragma once

#include <string>
#include <vector>

namespace nf4bench {

// For "did you mean": up to three names that resemble `word`, nearest first. Names resemble each
// other when their edit distance is small or one contains the other. When all of them resemble it,
// only the nearest are returned.
std::vector<std::string> nearest_names(const std::string& word,
                                       const std::vector<std::string>& names);

}  // namespace nf4bench
