#include "bench/ncu_table.hpp"

#include "base/parsed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>

namespace nf4bench::bench {
namespace {

using Words = std::vector<std::string>;

// The words of a line of CSV; a quote within quotes is written twice.
Words words_in(const std::string& line) {
  Words words(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (letter == '"') {
      const bool is_double = is_quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (is_double) words.back() += line[++i];
      if (!is_double) is_quoted = !is_quoted;
    } else if (letter == ',' && !is_quoted) {
      words.emplace_back();
    } else if (letter != '\r') {
      words.back() += letter;
    }
  }
  return words;
}

// How much one of `unit` is of bytes, seconds, a whole or a count, each also per something else
// ("byte/block"); empty: nobody knows.
std::optional<double> scale_of(const std::string& unit) {
  struct Unit {
    std::string_view name;
    double scale;
  };
  constexpr std::array kUnits = {
      Unit{"", 1.0},       Unit{"%", 0.01},       Unit{"byte", 1.0},     Unit{"Kbyte", 1e3},
      Unit{"Mbyte", 1e6},  Unit{"Gbyte", 1e9},    Unit{"Tbyte", 1e12},   Unit{"inst", 1.0},
      Unit{"Kinst", 1e3},  Unit{"Minst", 1e6},    Unit{"Ginst", 1e9},    Unit{"warp", 1.0},
      Unit{"cycle", 1.0},  Unit{"nsecond", 1e-9}, Unit{"usecond", 1e-6}, Unit{"msecond", 1e-3},
      Unit{"second", 1.0}, Unit{"ns", 1e-9},      Unit{"us", 1e-6},      Unit{"ms", 1e-3},
      Unit{"s", 1.0},      Unit{"block", 1.0},    Unit{"thread", 1.0},   Unit{"register", 1.0}};
  const auto* const found =
      std::ranges::find(kUnits, std::string_view(unit).substr(0, unit.find('/')), &Unit::name);
  return found == kUnits.end() ? std::nullopt : std::optional(found->scale);
}

// "1,234.5"; empty for "n/a", "nan" and the like, and what is below zero.
std::optional<double> number_in(std::string text) {
  std::erase(text, ',');
  const auto value = parsed<double>(text);
  return value && std::isfinite(*value) && *value >= 0.0 ? value : std::nullopt;
}

NcuKernel kernel_in(const Words& names, const Words& units, const Words& words) {
  NcuKernel kernel;
  const std::size_t columns = std::min({names.size(), units.size(), words.size()});
  for (std::size_t i = 0; i < columns; ++i) {
    const std::optional<double> scale = scale_of(units[i]);
    const std::optional<double> value = number_in(words[i]);
    if (!scale || !value) continue;
    // Divided, a share of 91.2 % is 0.912 and not the number next to it.
    kernel[names[i]] = *scale < 1.0 ? *value / std::round(1.0 / *scale) : *value * *scale;
  }
  return kernel;
}

}  // namespace

std::vector<NcuKernel> ncu_kernels_in(const std::string& text) {
  std::vector<NcuKernel> kernels;
  Words names;
  Words units;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("\"ID\",")) {
      names = words_in(line);
      units.clear();
    } else if (!names.empty() && line.starts_with('"')) {
      const Words words = words_in(line);
      if (units.empty()) {
        units = words;
      } else {
        kernels.push_back(kernel_in(names, units, words));
      }
    }
  }
  return kernels;
}

}  // namespace nf4bench::bench
