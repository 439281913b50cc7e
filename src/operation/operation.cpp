#include "operation/operation.hpp"

#include "base/nearest_names.hpp"
#include "operation/dequantize.hpp"
#include "operation/experts.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"

#include <algorithm>

namespace nf4bench::operation {

std::vector<std::byte> call_input(const Operation& operation, const kernels::Problem& problem,
                                  const record::RunOptions& options, Turn turn) {
  if (!operation.make_input) return {};
  std::vector<std::byte> input = operation.make_input(problem, options);
  if (!operation.has_routing) return input;
  const std::vector<std::byte> routing = operation.make_routing(problem, options, turn);
  input.insert(input.end(), routing.begin(), routing.end());
  return input;
}

std::optional<RoutedTraffic> routed_traffic(const Operation& operation,
                                            const kernels::Problem& problem,
                                            const record::RunOptions& options) {
  if (!operation.has_routing) return std::nullopt;
  RoutedTraffic traffic;
  double slots = 0.0;
  for (const Turn turn : {Turn::kOwn, Turn::kSibling}) {
    const std::vector<std::byte> routing = operation.make_routing(problem, options, turn);
    const ExpertLoad load = load_of(problem, {.rows = {}, .ids = routing, .slot_weights = {}});
    traffic.hit += static_cast<double>(load.hit) / 2.0;
    traffic.fullest = std::max(traffic.fullest, load.fullest);
    slots += static_cast<double>(load.slots) / 2.0;
  }
  const double share = traffic.hit / static_cast<double>(problem.group.experts);
  traffic.bytes_read =
      static_cast<std::int64_t>(share * static_cast<double>(weight_bytes(problem))) +
      call_bytes(problem);
  traffic.flops = 2.0 * slots * static_cast<double>(products_of_slot(problem));
  return traffic;
}

std::int64_t touched_bytes(const Operation& operation, const kernels::Problem& problem,
                           const record::RunOptions& options) {
  const auto routed = routed_traffic(operation, problem, options);
  if (!routed) return 0;
  return std::max(routed->bytes_read, weight_bytes(problem) / problem.group.experts);
}

std::int64_t expected_bytes(const Operation& operation, const kernels::Problem& problem,
                            std::int64_t most_values) {
  const auto size = static_cast<std::int64_t>(nf4::size_in_bytes(problem.output_type));
  const std::int64_t values = operation.traffic(problem).bytes_written / size;
  return std::min(values, most_values) * operation.expected_bytes(problem.output_type);
}

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {dequantize(), matmul(), experts(), backward()};
  return all;
}

std::vector<BuiltIn> built_in_catalogs() {
  std::vector<BuiltIn> found;
  for (const record::DeviceKind device : {record::DeviceKind::kCuda, record::DeviceKind::kCpu}) {
    for (const Operation& operation : operations()) {
      const kernels::Catalog& catalog = operation.catalog(device);
      if (!catalog.variants.empty()) found.push_back({operation, device, catalog});
    }
  }
  return found;
}

std::vector<std::string> built_in_variant_names() {
  std::vector<std::string> names;
  for (const BuiltIn& each : built_in_catalogs()) {
    for (const kernels::Variant& variant : each.catalog.variants) {
      const bool is_known = std::ranges::find(names, variant.name) != names.end();
      if (!is_known) names.emplace_back(variant.name);
    }
  }
  return names;
}

std::vector<Operation> operations_of(const std::vector<std::string>& names) {
  std::vector<Operation> chosen;
  for (const std::string& name : names) {
    if (std::ranges::find(chosen, name, &Operation::name) != chosen.end()) continue;
    const auto known = std::ranges::find(operations(), name, &Operation::name);
    if (known == operations().end()) {
      std::vector<std::string> words;
      for (const Operation& each : operations()) words.push_back(each.name);
      throw not_one_of("--operation", name, words);
    }
    chosen.push_back(*known);
  }
  if (chosen.empty()) chosen.push_back(operations().front());
  return chosen;
}

}  // namespace nf4bench::operation
