#include "report/json/sections.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace nf4bench::report {
namespace {

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

}  // namespace

void NumberGuard::enter(std::string where) {
  where_ = std::move(where);
}

json::JsonText NumberGuard::number(const char* field, double value) {
  return accepts(field, {value}) ? json::json_number(value) : json::json_null();
}

json::JsonText NumberGuard::number(const char* field, std::optional<double> value) {
  return value ? number(field, *value) : json::json_null();
}

json::JsonText NumberGuard::numbers(const char* field, const std::vector<double>& values) {
  if (all_finite(values)) return json::json_numbers(values);
  note(field);
  return json::json_numbers({});
}

bool NumberGuard::accepts(const char* field, std::initializer_list<double> values) {
  const bool is_writable = all_finite(values);
  if (!is_writable) note(field);
  return is_writable;
}

void NumberGuard::note(const char* field) {
  notes_.push_back(where_ + "." + field + " is not a finite number and was left out");
}

}  // namespace nf4bench::report
