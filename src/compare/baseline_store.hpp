#pragma once

#include "report/named_report.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace nf4bench::compare {

// A folder of named baselines, apart for each device: FOLDER/DEVICE/NAME/run-1.json, ...
class BaselineStore {
 public:
  explicit BaselineStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Replaces the baseline `name` of the device that `reports`, at least one, were made on, as a
  // whole. Throws Error(kUsage) for a name that is no file name, Error(kOutput).
  void save(const std::string& name, const std::vector<report::NamedReport>& reports) const;

  // The reports of the baseline `name` of the device of `report`. Throws Error(kNotComparable)
  // saying which there are when there is none.
  std::vector<report::NamedReport> load(const std::string& name,
                                        const record::Report& report) const;

 private:
  std::filesystem::path path_of(const std::string& name, const record::Report& report) const;
  std::string others(const std::string& name) const;

  std::filesystem::path folder_;
};

}  // namespace nf4bench::compare
