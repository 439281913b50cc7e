#include "operation/activations.hpp"

#include "base/parallel.hpp"
#include "nf4/random.hpp"
#include "nf4/values.hpp"

#include <memory>
#include <utility>

namespace nf4bench::operation {
namespace {

// Streams of random words, apart from those that tensors are drawn from.
constexpr std::uint64_t kValues = 0x6163746976617465u;
constexpr std::uint64_t kChannels = 0x6368616e6e656c73u;

constexpr double kOutlierShare = 0.01;
constexpr double kOutlierScale = 100.0;

}  // namespace

std::vector<std::byte> make_activations(const kernels::Problem& problem, record::Activations kind,
                                        std::uint64_t seed) {
  const nf4::RandomStream values(seed, kValues);
  const nf4::RandomStream channels(seed, kChannels);
  const std::int64_t rows = input_rows(problem);
  std::vector<double> numbers(static_cast<std::size_t>(rows * problem.inputs));
  parallel_for(rows, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first * problem.inputs; i < last * problem.inputs; ++i) {
      const bool is_outlier = kind == record::Activations::kOutlier &&
                              nf4::to_unit(channels.at(i % problem.inputs)) < kOutlierShare;
      const double number = nf4::normal_quantile(nf4::to_unit(values.at(i)));
      numbers[static_cast<std::size_t>(i)] = is_outlier ? kOutlierScale * number : number;
    }
  });
  return nf4::to_values(problem.output_type, numbers);
}

Operation with_activations(Operation operation, GivenActivations given) {
  const auto shared = std::make_shared<const GivenActivations>(std::move(given));
  operation.make_input = [shared](const kernels::Problem& problem, const record::RunOptions&) {
    const auto count = static_cast<std::size_t>(input_rows(problem) * problem.inputs);
    return nf4::to_values(problem.output_type, std::span(shared->values).first(count));
  };
  return operation;
}

}  // namespace nf4bench::operation
