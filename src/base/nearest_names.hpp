#pragma once

#include <string>
#include <vector>

namespace nf4bench {

// Up to three names that resemble `word`, by edit distance or because one holds the other, nearest
// first, for "did you mean". Empty when none does.
std::vector<std::string> nearest_names(const std::string& word,
                                       const std::vector<std::string>& names);

}  // namespace nf4bench
