#pragma once

#include "text/page.hpp"
#include "trying/attempt.hpp"

#include <string>
#include <vector>

namespace nf4bench::trying {

// A try for people: a line for each cell, or why there is none.
std::string to_text(const Attempt& attempt, const text::Style& style);

// Tries of a file, the best first.
std::string ranking_text(const std::vector<Attempt>& attempts, const text::Style& style);

}  // namespace nf4bench::trying
