#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace nf4bench::json {

// A parsed JSON value. Objects keep the order of their fields and have no field twice.
struct JsonTree {
  using Array = std::vector<JsonTree>;
  using Object = std::vector<std::pair<std::string, JsonTree>>;

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value = nullptr;
};

// Parses untrusted `text` in bounded depth. Throws Error(kInput) naming `source` when it is not
// JSON, nested too deeply, has a field twice or a number beyond double.
JsonTree parse_json(std::string_view text, const std::string& source);

}  // namespace nf4bench::json
