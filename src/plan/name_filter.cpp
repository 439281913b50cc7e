#include "plan/name_filter.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

namespace nf4bench::plan {
namespace {

// The library's matcher recurses once a character; names from a file may be of any length.
constexpr std::size_t kMaxMatchedChars = 1024;

}  // namespace

NameFilter::NameFilter(const std::string& regex) {
  if (regex.empty()) return;
  try {
    regex_.emplace(regex, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw Error(ErrorKind::kUsage, fmt::format("--tensor: \"{}\" is no regular expression: {}",
                                               escaped(regex), error.what()));
  }
}

bool NameFilter::selects(const std::string& name) const {
  if (!regex_) return true;
  return std::regex_search(name.substr(0, kMaxMatchedChars), *regex_);
}

}  // namespace nf4bench::plan
