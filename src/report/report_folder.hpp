#pragma once

#include "base/error.hpp"

#include <string>
#include <vector>

namespace nf4bench::report {

// Reports that are looked for in folders, too.

// The .json files at or below `input`, in alphabetic order; `input` itself when it is no folder.
// Throws Error(kInput) for a folder that cannot be listed.
std::vector<std::string> json_files(const std::string& input);

// The first bytes of the regular file at `path`, which tell what it holds; empty where it is none.
std::string beginning_of(const std::string& path);

// That `inputs` hold none.
Error no_report(const std::vector<std::string>& inputs);

}  // namespace nf4bench::report
