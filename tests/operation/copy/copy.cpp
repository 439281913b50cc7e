#include "operation/copy/copy.hpp"

#include "operation/weight.hpp"

#include <algorithm>
#include <cstring>

namespace nf4bench::test {
namespace {

kernels::Variant variant_of(const char* name, int bytes_left_out) {
  kernels::Variant variant;
  variant.name = name;
  variant.summary = "copies the packed weight";
  variant.launch = [bytes_left_out](const kernels::Job& job, const kernels::Launch&) {
    const std::int64_t bytes = kernels::packed_bytes(job.elements) - bytes_left_out;
    std::memcpy(job.output, job.packed, static_cast<std::size_t>(bytes));
  };
  return variant;
}

operation::Traffic traffic_of(const kernels::Problem& problem) {
  return {.bytes_read = operation::weight_bytes(problem),
          .bytes_written = kernels::packed_bytes(problem.elements)};
}

std::vector<std::byte> packed_of(const nf4::Nf4Tensor& weight, const kernels::Problem&,
                                 std::span<const std::byte>, std::int64_t most_values) {
  const auto bytes = std::as_bytes(std::span(weight.packed));
  const std::size_t count = std::min(bytes.size(), static_cast<std::size_t>(most_values));
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

record::Verification compare_bytes(const kernels::Problem&, std::span<const std::byte> expected,
                                   std::span<const std::byte> actual) {
  record::Verification found;
  found.compared = static_cast<std::int64_t>(expected.size());
  if (std::memcmp(expected.data(), actual.data(), expected.size()) == 0) return found;
  for (std::size_t i = 0; i < expected.size(); ++i) found.mismatches += expected[i] != actual[i];
  return found;
}

operation::Operation make_copy() {
  operation::Operation copy;
  copy.name = "copy";
  copy.problems = [](const kernels::Problem& weight, const record::RunOptions&) {
    return std::vector{weight};
  };
  copy.traffic = traffic_of;
  copy.reference = packed_of;
  copy.expected_bytes = [](nf4::OutputType) -> std::int64_t { return 1; };
  copy.judge = compare_bytes;
  copy.describe_fault = [](const record::Verification&) { return "bytes differ"; };
  copy.catalog = [](record::DeviceKind) -> const kernels::Catalog& {
    static const kernels::Catalog catalog = {
        .variants = {variant_of("whole", 0), variant_of("short", 1)},
        .stream_shapes = {},
        .flagship = "whole",
        .default_baseline = "whole"};
    return catalog;
  };
  return copy;
}

}  // namespace

const operation::Operation& copy() {
  static const operation::Operation operation = make_copy();
  return operation;
}

}  // namespace nf4bench::test
