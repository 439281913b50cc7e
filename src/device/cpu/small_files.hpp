#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::device {

// The one-value files in which Linux tells about itself, and the tables of /proc.

// The first line; empty when there is no such file or it cannot be read.
std::string first_line(const std::filesystem::path& path);

std::vector<std::string> lines_of(const std::filesystem::path& path);

// The number that `text` is, with blanks around it; absent when it is anything else.
std::optional<double> number(const std::string& text);

// The number in the first line of `path`.
std::optional<double> number_in(const std::filesystem::path& path);

// `text` cut at blanks.
std::vector<std::string> words_of(const std::string& text);

}  // namespace nf4bench::device
