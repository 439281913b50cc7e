#pragma once

// The report writer's own parts, shared by its source files.

#include "json/json_text.hpp"
#include "report/report.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::report {

// Passes numbers on to JSON. One that is not finite cannot be written: it becomes null (an array
// of samples becomes empty) and a note that ends up among the report's warnings.
class NumberGuard {
 public:
  // Names the part of the report that the next numbers belong to: "measurements[3]".
  void enter(std::string where);

  json::JsonText number(const char* field, double value);
  json::JsonText number(const char* field, std::optional<double> value);
  json::JsonText numbers(const char* field, const std::vector<double>& values);

  // True when all of `values`, members of one object, can be written.
  bool accepts(const char* field, std::initializer_list<double> values);

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void note(const char* field);

  std::string where_;
  std::vector<std::string> notes_;
};

// The sections that say what ran, where and how.
json::JsonText tool_json(const record::ToolInfo& tool);
json::JsonText shard_json(const record::Shard& shard);
json::JsonText host_json(const record::HostInfo& host);
json::JsonText device_json(const record::Report& report, NumberGuard& guard);
json::JsonText settings_json(const record::Settings& settings, NumberGuard& guard);
json::JsonText variants_json(const std::vector<record::ReportVariant>& variants);

}  // namespace nf4bench::report
