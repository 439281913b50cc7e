#pragma once

// What a merged file and the JSON form of a ranking share.

#include "fleet/fleet.hpp"
#include "json/json_text.hpp"

#include <optional>
#include <vector>

namespace nf4bench::fleet {

json::JsonText number_or_null(const std::optional<double>& value);
json::JsonText facts_json(const Facts& facts);
json::JsonText left_out_json(const std::vector<LeftOut>& reports);

}  // namespace nf4bench::fleet
