#include "bench/run_report.hpp"

#include "base/text.hpp"
#include "nf4/fingerprint.hpp"
#include "report/host.hpp"
#include "report/tool.hpp"
#include "nf4/finiteness.hpp"

#include <fmt/format.h>

#include <utility>

namespace nf4bench {
namespace {

ReportTensor report_tensor(const PlannedTensor& planned) {
  const TensorSource& source = planned.source;
  return {.id = planned.id,
          .name = source.name,
          .source = source.source,
          .shape = source.shape,
          .elements = source.elements,
          .blocksize = source.blocksize,
          .absmax_kind = source.absmax_kind,
          .dtype = source.dtype,
          .sha256 = "",
          .multiplicity = planned.multiplicity};
}

ReportVariant report_variant(const SelectedVariant& selected) {
  const Traits& traits = selected.variant.traits;
  return {.name = selected.name,
          .summary = selected.variant.summary,
          .launches = traits.launches,
          .inline_ptx = traits.inline_ptx,
          .cache_hints = traits.cache_hints,
          .persistent = traits.persistent,
          .mirrors = traits.mirrors};
}

// Has the report warn, once `source` is loaded, of what is infinite or NaN in the types of the run.
void warn_of_non_finite(Report& report, TensorSource& source) {
  std::vector<OutputType> types = report.settings.output_types;
  if (types.empty()) types = {source.dtype};
  source.load = [load = std::move(source.load), types = std::move(types), &report] {
    Nf4Tensor tensor = load();
    for (const OutputType type : types) {
      const std::string found = describe_non_finite(tensor, type);
      if (!found.empty()) {
        report.warnings.push_back(fmt::format("{}: {}", escaped(tensor.name), found));
      }
    }
    return tensor;
  };
}

}  // namespace

Report start_report(const std::vector<std::string>& argv, Device& device, const RunOptions& options,
                    const std::vector<SelectedVariant>& variants) {
  Report report;
  report.tool = tool_info();
  report.command = argv;
  report.started_at = utc_now();
  report.host = host_info();
  report.device = device.info();
  report.state_before = device.state();
  report.settings = options;
  for (const SelectedVariant& each : variants) report.variants.push_back(report_variant(each));
  return report;
}

void describe_tensors(Report& report, std::vector<PlannedTensor>& planned) {
  for (PlannedTensor& tensor : planned) {
    report.tensors.push_back(report_tensor(tensor));
    warn_of_non_finite(report, tensor.source);
    for (TensorSource& other : tensor.verify_also) warn_of_non_finite(report, other);
  }
  for (std::size_t i = 0; i < planned.size(); ++i) {
    auto load = std::move(planned[i].source.load);
    planned[i].source.load = [load = std::move(load), &report, i] {
      Nf4Tensor tensor = load();
      std::string& hash = report.tensors[i].sha256;
      if (hash.empty()) hash = fingerprint(tensor);
      return tensor;
    };
  }
}

}  // namespace nf4bench
