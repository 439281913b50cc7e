#include "trying/attempt.hpp"

#include "json/fields.hpp"
#include "json/json_tree.hpp"

namespace nf4bench::trying {

// Texts have no line breaks of their own in JSON: all there are belong to the layout.
std::string to_json(const Attempt& attempt) {
  const std::string text = json::FieldWriter().text(attempt).text;
  std::string line;
  line.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      line += text[i];
      continue;
    }
    while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
    if (line.ends_with(',')) line += ' ';
  }
  return line;
}

Attempt attempt_from_json(const std::string& line, const std::string& source) {
  const json::JsonTree tree = json::parse_json(line, source);
  const json::JsonNode root(tree, source);
  if (root["schema"].string() != kSchema) root["schema"].refuse(kSchema);
  Attempt attempt;
  const auto no_check = [] {};
  json::FieldReader(no_check).read(root, attempt);
  return attempt;
}

}  // namespace nf4bench::trying
