#include "device/cpu/small_files.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace nf4bench::device {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::optional<double> number(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() != 1) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(words.front().c_str(), &end);
  if (*end != '\0') return std::nullopt;
  return value;
}

std::optional<double> number_in(const std::filesystem::path& path) {
  return number(first_line(path));
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

}  // namespace nf4bench::device
