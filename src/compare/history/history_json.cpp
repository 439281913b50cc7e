#include "compare/history/history_text.hpp"
#include "compare/result/change_text.hpp"
#include "compare/result/json_parts.hpp"

namespace nf4bench::compare {
namespace {

json::JsonText run_json(const HistoryRun& run) {
  return json::json_object({{"name", json::json_string(run.name)},
                            {"started_at", json::json_string_or_null(run.started_at)},
                            {"git_commit", json::json_string_or_null(run.git_commit)},
                            {"complete", json::json_bool(run.complete)}});
}

json::JsonText series_json(const HistorySeries& series, Metric metric) {
  std::vector<std::int64_t> runs;
  std::vector<double> values;
  for (const HistoryPoint& point : series.points) {
    runs.push_back(static_cast<std::int64_t>(point.run));
    values.push_back(point.value);
  }
  std::vector<json::JsonMember> members = key_members(series.key);
  members.push_back({"runs", json::json_integers(runs)});
  members.push_back({"values", json::json_numbers(values)});
  members.push_back(
      {"steps", json::json_array_of(series.steps, [&](const HistoryStep& step) {
         return json::json_object(
             {{"run", json::json_integer(static_cast<std::int64_t>(series.points[step.point].run))},
              {"relative", json::json_number(shown_change(step.log_change, metric))},
              {"slower", json::json_bool(step.log_change > 0.0)}});
       })});
  members.push_back(
      {"last_off_level", json::json_number(shown_change(series.last_log_change, metric))});
  return json::json_object(members);
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
       {"series", json::json_array_of(device.series, [&](const HistorySeries& series) {
          return series_json(series, metric);
        })}});
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
