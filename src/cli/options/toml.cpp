#include "cli/options/toml.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace nf4bench::cli {
namespace {

int line_of(const toml::node& node) {
  return static_cast<int>(node.source().begin.line);
}

class Collector {
 public:
  explicit Collector(const std::string& name) : name_(name) {}

  void take(const toml::table& table) {
    for (const auto& [key, node] : table) {
      path_.emplace_back(std::string_view(key));
      if (const toml::table* const inner = node.as_table()) {
        document_.tables.push_back({path_, line_of(node)});
        take(*inner);
      } else {
        document_.entries.push_back({path_, value_of(node), line_of(node)});
      }
      path_.pop_back();
    }
  }

  // Sorted into the order of the text, which the library does not keep.
  TomlDocument result() && {
    const auto by_line = [](const auto& a, const auto& b) { return a.line < b.line; };
    std::stable_sort(document_.tables.begin(), document_.tables.end(), by_line);
    std::stable_sort(document_.entries.begin(), document_.entries.end(), by_line);
    return std::move(document_);
  }

 private:
  [[noreturn]] void refuse(const toml::node& node, const char* what) const {
    throw Error(ErrorKind::kUsage,
                fmt::format("{}:{}: {}: {}", escaped(name_), line_of(node),
                            escaped(fmt::format("{}", fmt::join(path_, "."))), what));
  }

  TomlValue value_of(const toml::node& node) const {
    using Kind = TomlValue::Kind;
    if (const auto* text = node.as_string()) return {Kind::kString, text->get(), {}};
    if (const auto* flag = node.as_boolean()) {
      return {Kind::kBoolean, flag->get() ? "true" : "false", {}};
    }
    if (const auto* integer = node.as_integer()) {
      return {Kind::kInteger, fmt::format("{}", integer->get()), {}};
    }
    if (const auto* number = node.as_floating_point()) {
      if (!std::isfinite(number->get())) refuse(node, "wanted a finite number");
      return {Kind::kFloat, fmt::format("{}", number->get()), {}};
    }
    if (const auto* array = node.as_array()) {
      TomlValue all{Kind::kArray, "", {}};
      for (const toml::node& item : *array) all.items.push_back(value_of(item));
      return all;
    }
    if (node.is_table()) {
      refuse(node, "no option takes tables; the header of a section has one pair of brackets");
    }
    refuse(node, "no option takes a date or a time; a string stands in quotes");
  }

  const std::string& name_;
  std::vector<std::string> path_;
  TomlDocument document_;
};

}  // namespace

std::string describe(const TomlValue& value) {
  switch (value.kind) {
    case TomlValue::Kind::kString:
      return fmt::format("the string \"{}\"", escaped(value.text));
    case TomlValue::Kind::kInteger:
      return "the integer " + value.text;
    case TomlValue::Kind::kFloat:
      return "the number " + value.text;
    case TomlValue::Kind::kBoolean:
      return value.text;
    case TomlValue::Kind::kArray:
      return "an array";
  }
  return "";
}

TomlDocument parse_toml(std::string_view text, const std::string& name) {
  // Each dot of a key is one more table inside another, which the library frees by recursion.
  constexpr std::ptrdiff_t kMostDots = 2000;
  if (std::count(text.begin(), text.end(), '.') > kMostDots) {
    throw Error(ErrorKind::kUsage, fmt::format("{}: has more than {} dots, which no configuration "
                                               "needs",
                                               escaped(name), kMostDots));
  }
  try {
    Collector collector(name);
    collector.take(toml::parse(text, name));
    return std::move(collector).result();
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{}:{}: not TOML: {}", escaped(name), error.source().begin.line,
                            escaped(error.description(), 400)));
  }
}

}  // namespace nf4bench::cli
