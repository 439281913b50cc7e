#include "peer/kernel/launch_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace nf4bench::peer {
namespace {

constexpr int kDeepest = 32;

class Expression {
 public:
  Expression(const std::string& text, const ValueOf& value_of) : text_(text), value_of_(value_of) {}

  double whole() {
    const double value = sum();
    if (at_ < text_.size()) refuse();
    return value;
  }

 private:
  bool takes(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  double sum() {
    double value = product();
    while (true) {
      if (takes('+')) {
        value += product();
      } else if (takes('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = factor();
    while (true) {
      if (takes('*')) {
        value *= factor();
      } else if (takes('/')) {
        value /= factor();
      } else {
        return value;
      }
    }
  }

  double factor() {
    if (++depth_ > kDeepest) throw std::invalid_argument("too many brackets");
    const double value = takes('(') ? closed(sum()) : named_or_number();
    --depth_;
    return value;
  }

  double closed(double value) {
    if (!takes(')')) refuse();
    return value;
  }

  double named_or_number() {
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') return number();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    if (at_ == begin) refuse();
    const std::string name = text_.substr(begin, at_ - begin);
    if (takes('(')) return function(name);
    if (const std::optional<double> value = value_of_(name)) return *value;
    throw std::invalid_argument(fmt::format("\"{}\" is no size of the problem", name));
  }

  double number() {
    double value = 0.0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) refuse();
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  double function(const std::string& name) {
    std::vector<double> arguments = {sum()};
    while (takes(',')) arguments.push_back(sum());
    closed(0.0);
    if (arguments.size() == 1 && name == "ceil") return std::ceil(arguments[0]);
    if (arguments.size() == 1 && name == "floor") return std::floor(arguments[0]);
    if (name == "min") return *std::min_element(arguments.begin(), arguments.end());
    if (name == "max") return *std::max_element(arguments.begin(), arguments.end());
    throw std::invalid_argument(
        fmt::format("there is no {}() of {} values; there are ceil, floor, min and max", name,
                    arguments.size()));
  }

  [[noreturn]] void refuse() const {
    throw std::invalid_argument(at_ < text_.size() ? fmt::format("unexpected '{}'", text_[at_])
                                                   : std::string("it ends too early"));
  }

  const std::string& text_;
  const ValueOf& value_of_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluate(const std::string& text, const ValueOf& value_of) {
  return Expression(text, value_of).whole();
}

}  // namespace nf4bench::peer
