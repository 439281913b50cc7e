#include "peer/kernel/launch_size.hpp"

#include "peer/generic_peer.hpp"

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
  Expression(const std::string& text, const Sizes& sizes) : text_(text), sizes_(sizes) {}

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
    const auto* const found = std::ranges::find(kSizeNames, name);
    if (found != kSizeNames.end()) {
      return sizes_[static_cast<std::size_t>(found - kSizeNames.begin())];
    }
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
    if (name == "min") return *std::ranges::min_element(arguments);
    if (name == "max") return *std::ranges::max_element(arguments);
    throw std::invalid_argument(
        fmt::format("there is no {}() of {} values; there are ceil, floor, min and max", name,
                    arguments.size()));
  }

  [[noreturn]] void refuse() const {
    throw std::invalid_argument(at_ < text_.size() ? fmt::format("unexpected '{}'", text_[at_])
                                                   : std::string("it ends too early"));
  }

  const std::string& text_;
  const Sizes& sizes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Sizes sizes_of(const kernels::Problem& problem, const kernels::DeviceFacts& device) {
  return {static_cast<double>(problem.elements),       static_cast<double>(problem.blocks),
          std::ldexp(1.0, problem.block_shift),        static_cast<double>(problem.outputs),
          static_cast<double>(problem.inputs),         static_cast<double>(problem.tokens),
          static_cast<double>(problem.group.experts),  static_cast<double>(problem.group.top_k),
          static_cast<double>(device.multiprocessors), 1.0};
}

double evaluate(const std::string& text, const Sizes& sizes) {
  return Expression(text, sizes).whole();
}

namespace {

std::optional<double> whole(const std::string& text, const Sizes& sizes, double low, double high) {
  const double value = evaluate(text, sizes);
  const bool fits = value >= low && value <= high && std::floor(value) == value;
  return fits ? std::optional(value) : std::nullopt;
}

bool read_sizes(const std::vector<std::string>& texts, const Sizes& sizes,
                const std::array<double, 3>& most, std::array<unsigned, 3>& result) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::optional<double> value = whole(texts[i], sizes, 1.0, most[i]);
    if (!value) return false;
    result[i] = static_cast<unsigned>(*value);
  }
  return true;
}

}  // namespace

std::optional<KernelLaunch> launch_of(const KernelSource& kernel, Sizes sizes) {
  constexpr double kMostThreads = 1024;
  KernelLaunch launch;
  if (!read_sizes(kernel.block, sizes, {1024, 1024, 64}, launch.block)) return std::nullopt;
  sizes[kBlockSize] = double{1} * launch.block[0] * launch.block[1] * launch.block[2];
  if (sizes[kBlockSize] > kMostThreads) return std::nullopt;
  if (!read_sizes(kernel.grid, sizes, {2147483647, 65535, 65535}, launch.grid)) return std::nullopt;
  const std::optional<double> shared = whole(kernel.shared, sizes, 0.0, 1 << 20);
  if (!shared) return std::nullopt;
  launch.shared_bytes = static_cast<unsigned>(*shared);
  return launch;
}

std::optional<double> workspace_of(const KernelSource& kernel, const Sizes& sizes) {
  return whole(kernel.workspace, sizes, 0.0, static_cast<double>(kMostWorkspace));
}

}  // namespace nf4bench::peer
