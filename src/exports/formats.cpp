#include "exports/export.hpp"

#include <algorithm>
#include <string>

namespace nf4bench::exports {
namespace {

template <void (*kWrite)(const record::Report&, const json::TextSink&)>
void all_metrics(const record::Report& report, ActionMetric /*metric*/,
                 const json::TextSink& sink) {
  kWrite(report, sink);
}

}  // namespace

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      {"csv", all_metrics<to_csv>, {"tensor,tensor_name,shape,elements,blocksize,absmax,"}},
      {"markdown", all_metrics<to_markdown>, {"### nf4bench: "}},
      {"google-benchmark", all_metrics<to_google_benchmark>, {"\"library_version\": \"nf4bench "}},
      {"nvbench", all_metrics<to_nvbench>, {"\"nf4bench\": {", "\"string\": \"nf4bench "}},
      {"bencher", all_metrics<to_bencher>, {"\"latency\":", "\"lower_value\":"}},
      {"openmetrics", all_metrics<to_openmetrics>, {"# HELP nf4bench_build_info "}},
      {"marking", all_metrics<to_marking>, {"### Marks by the scheme of "}},
      {"html", all_metrics<to_html>, {"<title>nf4bench: "}},
      {"github-action", to_github_action, {"\"extra\":", "; nf4bench "}, true},
      {"reframe", to_reframe, {"\n# nf4bench: "}, true},
  };
  return kFormats;
}

bool is_of(const Format& format, std::string_view beginning) {
  const std::string lines = '\n' + std::string(beginning);
  return std::ranges::all_of(
      format.marks, [&](std::string_view mark) { return lines.find(mark) != std::string::npos; });
}

}  // namespace nf4bench::exports
