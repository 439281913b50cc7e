#include "plan/run_options_json.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "json/fields.hpp"
#include "record/fields.hpp"

namespace nf4bench::plan {
namespace {

// Another process must be given the same bytes, and JSON holds UTF-8 alone.
struct CheckText {
  template <class Value>
  void operator()(const char* /*name*/, const Value& /*value*/) const {}

  void operator()(const char* /*name*/, const std::string& text) const {
    if (is_utf8(text)) return;
    throw Error(ErrorKind::kUsage,
                "\"{}\" is not UTF-8, so that no other process of this program can be given it",
                escaped(text));
  }

  void operator()(const char* name, const std::vector<std::string>& texts) const {
    for (const std::string& text : texts) (*this)(name, text);
  }
};

struct NoCheck {};

}  // namespace

std::string run_options_to_json(const record::RunOptions& options) {
  fields(options, CheckText());
  return json::FieldWriter().text(options).text + "\n";
}

record::RunOptions run_options_from_json(std::string_view text, const std::string& source) {
  const json::JsonTree tree = json::parse_json(text, source);
  record::RunOptions options;
  NoCheck no_check;
  json::FieldReader(no_check).read(json::JsonNode(tree, source), options);
  return options;
}

}  // namespace nf4bench::plan
