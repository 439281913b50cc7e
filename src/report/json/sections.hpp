#pragma once

// The report writer's own parts, shared by its source files.

#include "json/json_text.hpp"
#include "report/report.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench {

// Passes numbers on to JSON. One that is not finite can not be written: it becomes null (an array
// of samples becomes empty) and a note that ends up among the report's warnings.
class NumberGuard {
 public:
  // Names the part of the report that the next numbers belong to: "measurements[3]".
  void enter(std::string where);

  JsonText number(const char* field, double value);
  JsonText number(const char* field, std::optional<double> value);
  JsonText numbers(const char* field, const std::vector<double>& values);

  // True when all of `values`, members of one object, can be written.
  bool accepts(const char* field, std::initializer_list<double> values);

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void note(const char* field);

  std::string where_;
  std::vector<std::string> notes_;
};

template <typename Item, typename Function>
JsonText json_array_of(const std::vector<Item>& items, Function&& to_text) {
  std::vector<JsonText> texts;
  texts.reserve(items.size());
  for (const Item& item : items) texts.push_back(to_text(item));
  return json_array(texts);
}

JsonText json_strings(const std::vector<std::string>& values);

// The sections that say what ran, where and how.
JsonText tool_json(const ToolInfo& tool);
JsonText host_json(const HostInfo& host);
JsonText device_json(const Report& report, NumberGuard& guard);
JsonText settings_json(const RunOptions& settings, NumberGuard& guard);
JsonText variants_json(const std::vector<ReportVariant>& variants);

// The variants under the scheme of report/marking.hpp.
JsonText marking_json(const Report& report, NumberGuard& guard);

}  // namespace nf4bench
