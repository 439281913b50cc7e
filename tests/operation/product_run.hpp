#pragma once

// A run of matrix products, also with stacks of experts, by variants of a test, on any device:
// verified, probed, timed, judged.

#include "bench/runner.hpp"
#include "device/device.hpp"
#include "nf4/synthetic.hpp"
#include "operation/experts.hpp"
#include "operation/matmul.hpp"
#include "plan/plan.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nf4bench::test {

struct ProductSizes {
  std::int64_t tokens = 1;
  std::int64_t outputs = 16;
  std::int64_t inputs = 256;
  nf4::OutputType type = nf4::OutputType::kFloat16;
  record::VerifyScope verify = record::VerifyScope::kAll;
  std::int64_t experts = 0;  // 0: a single matrix
  record::Stack stack{};
  bool is_backward = false;
};

// One row for each variant of `catalog`, by its name.
inline std::map<std::string, record::Measurement> run_products(device::Device& device,
                                                               const kernels::Catalog& catalog,
                                                               const ProductSizes& sizes) {
  operation::Operation operation = sizes.experts > 0   ? operation::experts()
                                   : sizes.is_backward ? operation::backward()
                                                       : operation::matmul();
  operation.catalog = [&catalog](record::DeviceKind) -> const kernels::Catalog& { return catalog; };
  plan::TensorSource source;
  source.name = "w";
  source.source = "synthetic";
  source.geometry = {.shape = {sizes.outputs, sizes.inputs}};
  if (sizes.experts > 0) {
    source.geometry.shape.insert(source.geometry.shape.begin(), sizes.experts);
    source.geometry.stack = sizes.stack;
  }
  source.load = [shape = source.geometry.shape] {
    return nf4::make_synthetic({.name = "w", .shape = shape});
  };
  record::RunOptions options;
  options.output_types = {sizes.type};
  options.tokens = {sizes.tokens};
  options.launches = {device.launch_modes().front()};
  options.caches = {record::CacheMode::kHot};
  options.baseline = catalog.default_baseline;
  options.min_samples = 3;
  options.max_time_s = 0.001;
  options.min_sample_s = 1e-6;
  options.measure_stream_shapes = false;
  options.verify = sizes.verify;
  std::map<std::string, record::Measurement> rows;
  bench::RunObserver observer{};
  observer.on_measurement = [&](const record::Measurement& row) { rows[row.variant] = row; };
  const auto planned = plan::plan_tensors({source}, plan::TensorChoice::kAll);
  const auto variants = plan::select_variants(catalog.variants, {});
  const std::atomic<bool> interrupted = false;
  bench::run_benchmark({device, operation, planned, variants, options}, {}, observer, interrupted);
  return rows;
}

}  // namespace nf4bench::test
