#include "compare/history/history_text.hpp"
#include "compare/history/series_sheet.hpp"
#include "text/printers.hpp"

namespace nf4bench::compare {
namespace {

json::JsonText run_json(const HistoryRun& run) {
  return json::json_object({{"name", json::json_string(run.name)},
                            {"started_at", json::json_string_or_null(run.started_at)},
                            {"git_commit", json::json_string_or_null(run.git_commit)},
                            {"complete", json::json_bool(run.complete)}});
}

json::JsonText device_json(const HistoryDevice& device, Metric metric) {
  return json::json_object(
      {{"name", json::json_string(device.device)},
       {"key", json::json_string(device.id)},
       {"unit", json::json_string(device.unit)},
       {"threshold", json::json_number(device.threshold)},
       {"run_noise", json::json_object({{"relative", json::json_number(device.noise.relative)},
                                        {"origin", json::json_string(device.noise.origin)}})},
       {"runs", json::json_array_of(device.runs, run_json)},
       {"series", text::json_rows(series_sheet(device, metric, Shown::kAll))}});
}

}  // namespace

std::string history_json(const History& history) {
  return json::json_object({{"schema", json::json_string(kHistorySchema)},
                            {"schema_version", json::json_string(kHistorySchemaVersion)},
                            {"metric", json::json_string(to_string(history.metric))},
                            {"devices", json::json_array_of(history.devices,
                                                            [&](const HistoryDevice& device) {
                                                              return device_json(device,
                                                                                 history.metric);
                                                            })}})
             .text +
         "\n";
}

}  // namespace nf4bench::compare
