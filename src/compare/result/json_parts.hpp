#pragma once

// What the JSON forms of comparisons and histories share.

#include <vector>

#include "compare/cell_key.hpp"
#include "json/json_text.hpp"

namespace nf4bench {

template <typename Item, typename Function>
JsonText json_list(const std::vector<Item>& items, Function&& to_text) {
  std::vector<JsonText> texts;
  texts.reserve(items.size());
  for (const Item& item : items) texts.push_back(to_text(item));
  return json_array(texts);
}

// The fields that name a cell, spelt as in a report.
std::vector<JsonMember> key_members(const CellKey& key);

}  // namespace nf4bench
