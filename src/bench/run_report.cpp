#include "bench/run_report.hpp"

#include "base/text.hpp"
#include "nf4/fingerprint.hpp"
#include "nf4/finiteness.hpp"
#include "report/host.hpp"
#include "report/tool.hpp"

#include <fmt/format.h>

#include <utility>

namespace nf4bench::bench {
namespace {

record::ReportTensor report_tensor(const plan::PlannedTensor& planned) {
  const plan::TensorSource& source = planned.source;
  return {.id = planned.id,
          .name = source.name,
          .source = source.source,
          .geometry = source.geometry,
          .dtype = source.dtype,
          .sha256 = "",
          .multiplicity = planned.multiplicity};
}

record::ReportVariant report_variant(const plan::SelectedVariant& selected) {
  const kernels::Traits& traits = selected.variant.traits;
  return {.name = selected.name,
          .summary = selected.variant.summary,
          .launches = traits.launches,
          .inline_ptx = traits.inline_ptx,
          .cache_hints = traits.cache_hints,
          .persistent = traits.persistent,
          .mirrors = traits.mirrors};
}

// Has the report warn, once `source` is loaded, of what is infinite or NaN in the types of the run.
void warn_of_non_finite(record::Report& report, plan::TensorSource& source) {
  std::vector<nf4::OutputType> types = report.settings.output_types;
  if (types.empty()) types = {source.dtype};
  source.load = [load = std::move(source.load), types = std::move(types), &report] {
    nf4::Nf4Tensor tensor = load();
    for (const nf4::OutputType type : types) {
      const std::string found = nf4::describe_non_finite(tensor, type);
      if (!found.empty()) {
        report.warnings.push_back(fmt::format("{}: {}", escaped(tensor.name), found));
      }
    }
    return tensor;
  };
}

}  // namespace

record::Report start_report(const std::vector<std::string>& argv, device::Device& device,
                            const record::Settings& options,
                            const std::vector<plan::SelectedVariant>& variants) {
  record::Report report;
  report.tool = report::tool_info();
  report.command = argv;
  report.started_at = report::utc_now();
  report.host = report::host_info();
  report.device = device.info();
  report.state_before = device.state();
  report.settings = options;
  for (const plan::SelectedVariant& each : variants)
    report.variants.push_back(report_variant(each));
  return report;
}

void describe_tensors(record::Report& report, std::vector<plan::PlannedTensor>& planned) {
  for (plan::PlannedTensor& tensor : planned) {
    report.tensors.push_back(report_tensor(tensor));
    warn_of_non_finite(report, tensor.source);
    for (plan::TensorSource& other : tensor.verify_also) warn_of_non_finite(report, other);
  }
  for (std::size_t i = 0; i < planned.size(); ++i) {
    auto load = std::move(planned[i].source.load);
    planned[i].source.load = [load = std::move(load), &report, i] {
      nf4::Nf4Tensor tensor = load();
      std::string& hash = report.tensors[i].sha256;
      if (hash.empty()) hash = nf4::fingerprint(tensor);
      return tensor;
    };
  }
}

}  // namespace nf4bench::bench
