#pragma once

#include "record/run_options.hpp"

#include <string>
#include <string_view>

namespace nf4bench::plan {

// What another process of this program takes as its options. Throws Error(kUsage) for a word that
// is not UTF-8, which JSON cannot hold.
std::string run_options_to_json(const record::RunOptions& options);

// The same options again. Throws Error(kInput) naming `source` and the option.
record::RunOptions run_options_from_json(std::string_view text, const std::string& source);

}  // namespace nf4bench::plan
