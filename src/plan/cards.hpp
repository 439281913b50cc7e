#pragma once

#include "text/sheet.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::plan {

// What is asked of the known cards.
struct CardQuestion {
  std::string name;                  // a part of the cards' names; empty: all cards
  std::vector<std::string> shapes;   // empty: one that is usual
  std::vector<std::int64_t> tokens;  // empty: some that are usual
  std::string dtype;                 // a name of a type; empty: the one all cards can multiply
  int compute_capability = 0;        // that the code is for; 0: the card's own

  bool has_options() const {
    return !shapes.empty() || !tokens.empty() || !dtype.empty() || compute_capability != 0;
  }
};

// What they are and should take, a section each. Throws Error(kUsage).
text::Sheet sheet_of_cards(const CardQuestion& asked);

}  // namespace nf4bench::plan
