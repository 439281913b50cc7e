#include "text/columns.hpp"

#include <algorithm>
#include <cstddef>

namespace nf4bench::text {
namespace {

// Characters of UTF-8 `text`: all its bytes but the continuation bytes.
std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0u) != 0x80u;
  }));
}

std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], characters(row[i]));
    }
  }
  return widths;
}

// `text` cut to `limit` characters, the cut shown by "...".
std::string cut(const std::string& text, std::size_t limit) {
  constexpr std::size_t kShortest = 10;
  if (limit < kShortest || characters(text) <= limit) return text;
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    const bool starts = (static_cast<unsigned char>(text[bytes]) & 0xc0u) != 0x80u;
    if (starts && seen++ == limit - 3) break;
  }
  return text.substr(0, bytes) + "...";
}

}  // namespace

std::string align_columns(const std::vector<std::vector<std::string>>& rows, int width) {
  const std::vector<std::size_t> widths = widths_of(rows);
  std::string text;
  for (const auto& row : rows) {
    std::size_t column = 0;
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_last = i + 1 == row.size();
      const auto limit = static_cast<std::size_t>(width);
      line += is_last && width > 0 && limit > column ? cut(row[i], limit - column) : row[i];
      if (is_last) break;
      line.append(widths[i] - characters(row[i]) + 2, ' ');
      column += widths[i] + 2;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace nf4bench::text
