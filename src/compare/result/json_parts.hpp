#pragma once

// What the JSON forms of comparisons and histories share.

#include "compare/cell_key.hpp"
#include "json/json_text.hpp"

#include <vector>

namespace nf4bench::compare {

template <typename Item, typename Function>
json::JsonText json_list(const std::vector<Item>& items, Function&& to_text) {
  std::vector<json::JsonText> texts;
  texts.reserve(items.size());
  for (const Item& item : items) texts.push_back(to_text(item));
  return json::json_array(texts);
}

// The fields that name a cell, spelt as in a report.
std::vector<json::JsonMember> key_members(const CellKey& key);

}  // namespace nf4bench::compare
