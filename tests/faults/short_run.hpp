#pragma once

#include "cli/process.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::test {

// Arguments of a run on the CPU that takes a few hundredths of a second for each shape. Options in
// `more` replace the ones here.
inline std::vector<std::string> short_run(const std::string& report,
                                          const std::vector<std::string>& more = {}) {
  const std::array<std::pair<std::string, std::string>, 7> defaults = {{{"--device", "cpu"},
                                                                        {"--cache", "hot"},
                                                                        {"--max-time", "0.01"},
                                                                        {"--min-samples", "3"},
                                                                        {"--variant", "simd"},
                                                                        {"--baseline", "none"},
                                                                        {"--json", report}}};
  std::vector<std::string> arguments = {"run", "--no-ceilings"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  for (const auto& [option, value] : defaults) {
    if (std::find(more.begin(), more.end(), option) != more.end()) continue;
    arguments.insert(arguments.end(), {option, value});
  }
  return arguments;
}

// A run that lasts until it is interrupted.
inline std::vector<std::string> endless_run(const std::string& report) {
  return short_run(report, {"--shape", "512x512", "--max-time", "3600", "--min-samples", "1000000",
                            "--precision", "0"});
}

// The `--shape` options of `count` geometries that differ.
inline std::vector<std::string> shapes(int count) {
  std::vector<std::string> arguments;
  for (int i = 1; i <= count; ++i) {
    arguments.insert(arguments.end(), {"--shape", std::to_string(i) + "x64"});
  }
  return arguments;
}

// The same run for `count` geometries.
inline std::vector<std::string> with_shapes(std::vector<std::string> arguments, int count) {
  const std::vector<std::string> geometries = shapes(count);
  arguments.insert(arguments.end(), geometries.begin(), geometries.end());
  return arguments;
}

// The report at `path`, which is to be valid JSON with a report's members.
inline nlohmann::json report_at(const std::string& path) {
  nlohmann::json report = nlohmann::json::parse(read_file(path));
  report.at("complete").get<bool>();
  if (report.at("measurements").empty()) throw std::runtime_error("no measurement in " + path);
  return report;
}

}  // namespace nf4bench::test
