#include "json/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace nf4bench::json {
namespace {

bool are_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace

JsonText FieldWriter::text(const std::optional<statistics::Interval>& value, Field /*field*/) {
  if (!value) return json_null();
  const double ends[] = {value->low, value->high};
  if (are_finite(ends)) return json_numbers(ends);
  return number(value->high - value->low, false);
}

JsonText FieldWriter::number(double value, bool may_be_null) {
  if (std::isfinite(value)) return json_number(value);
  if (may_be_null || guards_ == 0) {
    note();
  } else {
    is_spoiled_ = true;
  }
  return json_null();
}

JsonText FieldWriter::numbers(const std::vector<double>& values) {
  if (are_finite(values)) return json_numbers(values);
  note();
  return json_numbers({});
}

void FieldWriter::note() {
  std::string path;
  for (const Step& step : path_) {
    path += step.name == nullptr ? fmt::format("[{}]", step.index)
                                 : fmt::format("{}{}", path.empty() ? "" : ".", step.name);
  }
  notes_.push_back(path + " is not a finite number and was left out");
}

void refuse_word(const JsonNode& node, const std::vector<std::string>& words) {
  node.refuse(fmt::format("one of {}", fmt::join(words, ", ")));
}

std::optional<statistics::Interval> read_interval(const JsonNode& node) {
  if (node.is_null()) return std::nullopt;
  const std::vector<double> ends = node.numbers(0.0);
  if (ends.size() != 2 || ends[0] > ends[1]) node.refuse("two numbers, the lower first");
  return statistics::Interval{ends[0], ends[1]};
}

std::string read_name(const JsonNode& node) {
  constexpr std::size_t kMostCharacters = 64;
  std::string word = node.string();
  const bool is_word =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (word.empty() || word.size() > kMostCharacters || !is_word) {
    node.refuse("the name of an operation: small letters, digits and _");
  }
  return word;
}

}  // namespace nf4bench::json
