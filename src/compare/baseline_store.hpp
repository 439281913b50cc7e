#pragma once

#include "report/report.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace nf4bench::compare {

// Says by throwing that the file of this path must not be lost; see check_output().
using CheckPath = std::function<void(const std::filesystem::path& path)>;

// What a report is compared with.
struct Baseline {
  std::vector<report::NamedReport> reports;
  int other_units = 0;  // that these are of, where the report's own unit has no baseline; else 0
};

// A folder of named baselines, apart for each device: FOLDER/DEVICE/NAME/run-1.json, ...
class BaselineStore {
 public:
  explicit BaselineStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Asks `check` for each file that save() would remove: those of an older baseline `name` of the
  // device of `report`. Throws Error(kUsage) for a name that is no file name.
  void check_replaceable(const std::string& name, const record::Report& report,
                         const CheckPath& check) const;

  // Replaces the baseline `name` of each device that `reports` were made on, as a whole, if `check`
  // lets all files go. A program that is killed meanwhile leaves the old baseline or the new one.
  // Throws Error(kUsage) for a name that is no file name, Error(kOutput).
  void save(const std::string& name, const std::vector<report::NamedReport>& reports,
            const CheckPath& check) const;

  // The baseline `name` of the device of `report`. Where a GPU has none of its own, those of all
  // other GPUs of its model. Throws Error(kNotComparable) saying which there are when there is
  // none.
  Baseline load(const std::string& name, const record::Report& report) const;

 private:
  std::filesystem::path path_of(const std::string& name, const record::Report& report) const;
  Baseline load_of_model(const std::string& name, const record::Report& report) const;
  std::string others(const std::string& name) const;

  std::filesystem::path folder_;
};

}  // namespace nf4bench::compare
