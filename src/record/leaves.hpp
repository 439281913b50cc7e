#pragma once

#include "record/fields.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace nf4bench::record {

// A field that has no parts; std::monostate where it is null.
using Leaf = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

// Hands the path and the value of each leaf of a struct that names its fields to `take`:
// "time_s.median", "time_s.ci95.low". What is absent has leaves without a value; arrays have none.
template <class Take>
class LeafWalk {
 public:
  explicit LeafWalk(Take& take) : take_(take) {}

  template <class T>
  void object(const T& value, const std::string& path, bool is_absent) {
    fields(value, [&](const char* name, const auto& member, Field field = {}) {
      const std::string inner = path.empty() ? name : path + '.' + name;
      this->value(member, inner, is_absent, field);
    });
  }

 private:
  template <class T>
  void value(const T& value, const std::string& path, bool is_absent, Field field) {
    if constexpr (HasFields<const T>) {
      object(value, path, is_absent);
    } else {
      const bool is_null = is_absent || (field.or_null && value == T());
      Leaf leaf;
      if (!is_null) set(leaf, value);
      take_(path, leaf);
    }
  }

  template <class T>
  void value(const std::optional<T>& value, const std::string& path, bool is_absent, Field field) {
    this->value(value ? *value : T(), path, is_absent || !value, field);
  }

  void value(const std::optional<statistics::Interval>& value, const std::string& path,
             bool is_absent, Field /*field*/) {
    const statistics::Interval ends = value.value_or(statistics::Interval());
    this->value(ends.low, path + ".low", is_absent || !value, {});
    this->value(ends.high, path + ".high", is_absent || !value, {});
  }

  template <class T>
  void value(const std::vector<T>& /*value*/, const std::string& /*path*/, bool /*is_absent*/,
             Field /*field*/) {}

  template <class T>
  static void set(Leaf& leaf, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      leaf = std::string(to_string(value));
    } else if constexpr (std::is_same_v<T, int>) {
      leaf = std::int64_t{value};
    } else {
      leaf = value;
    }
  }

  Take& take_;
};

template <class T, class Take>
void each_leaf(const T& object, Take&& take) {
  LeafWalk walk(take);
  walk.object(object, "", false);
}

// The number at the path of a leaf; none where it is null or no number of floating point.
inline std::optional<double> number_at(const Measurement& measurement, std::string_view path) {
  std::optional<double> number;
  each_leaf(measurement, [&](const std::string& each, const Leaf& leaf) {
    if (const double* value = std::get_if<double>(&leaf); value != nullptr && each == path) {
      number = *value;
    }
  });
  return number;
}

}  // namespace nf4bench::record
