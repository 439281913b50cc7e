#include "fleet/json_parts.hpp"

namespace nf4bench::fleet {

json::JsonText number_or_null(const std::optional<double>& value) {
  return value ? json::json_number(*value) : json::json_null();
}

json::JsonText facts_json(const Facts& facts) {
  return json::json_array_of(
      facts,
      [](const auto& fact) {
        return json::json_object(
            {{"name", json::json_string(fact.first)}, {"value", json::json_string(fact.second)}});
      },
      json::JsonLayout::kExpanded);
}

json::JsonText left_out_json(const std::vector<LeftOut>& reports) {
  return json::json_array_of(
      reports,
      [](const LeftOut& each) {
        return json::json_object({{"report", json::json_string(each.report)},
                                  {"reason", json::json_string(each.reason)}});
      },
      json::JsonLayout::kExpanded);
}

}  // namespace nf4bench::fleet
