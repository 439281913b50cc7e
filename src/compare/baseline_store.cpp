#include "compare/baseline_store.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "compare/history/history.hpp"
#include "report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iterator>
#include <map>
#include <system_error>

namespace nf4bench::compare {
namespace {

namespace fs = std::filesystem;

void check_name(const std::string& name) {
  constexpr const char* kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (!name.empty() && name.size() <= 100 && name.front() != '.' &&
      name.find_first_not_of(kLetters) == std::string::npos) {
    return;
  }
  throw Error(ErrorKind::kUsage,
              "compare: a baseline cannot be called \"{}\"; use letters, digits, dots, dashes and "
              "underscores, no dot first",
              escaped(name));
}

// The entries of `folder` in alphabetic order; none when it cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    entries.push_back(entry.path());
  }
  std::ranges::sort(entries);
  return entries;
}

// Where a baseline is while another takes its place and the file system cannot exchange the two.
fs::path set_aside(const fs::path& path) {
  return path.parent_path() / fmt::format(".{}.old", path.filename().string());
}

// Puts back what a program that was killed had set aside.
void recover(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) fs::rename(set_aside(path), path, ignored);
}

// The reports of the baseline in the folder `path`; none when there is no baseline.
std::vector<report::NamedReport> reports_in(const fs::path& path) {
  recover(path);
  std::vector<std::string> files;
  for (const fs::path& entry : entries_of(path)) {
    if (entry.extension() == ".json") files.push_back(entry.string());
  }
  return report::read_reports(files);
}

// A folder beside `path` that nobody else has, gone at the end with all that is in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& path) {
    fs::create_directories(path.parent_path());
    std::string name =
        (path.parent_path() / fmt::format(".{}.XXXXXX", path.filename().string())).string();
    if (mkdtemp(name.data()) == nullptr) {
      throw fs::filesystem_error("mkdtemp", name, {errno, std::generic_category()});
    }
    path_ = name;
    fs::permissions(path_,
                    fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                        fs::perms::others_exec,
                    fs::perm_options::add);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Puts the finished folder `fresh` in the place of `path`, and what was there in its own: in one
// step where the file system can, else in two, of which recover() undoes the first.
void exchange(const fs::path& fresh, const fs::path& path) {
  recover(path);
  if (!fs::exists(path)) return fs::rename(fresh, path);
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return;
  const fs::path old = set_aside(path);
  fs::remove_all(old);
  fs::rename(path, old);
  try {
    fs::rename(fresh, path);
  } catch (const fs::filesystem_error&) {
    recover(path);
    throw;
  }
  fs::remove_all(old);
}

void save_one(const fs::path& path, const std::vector<const record::Report*>& runs) {
  try {
    const TemporaryFolder fresh(path);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      write_file(fresh.path() / fmt::format("run-{:03}.json", i + 1), report::to_json(*runs[i]));
    }
    exchange(fresh.path(), path);
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorKind::kOutput, "{}: the baseline cannot be saved: {}", escaped(path.string()),
                error.code().message());
  }
}

}  // namespace

fs::path BaselineStore::path_of(const std::string& name, const record::Report& report) const {
  check_name(name);
  return folder_ / device_key(report) / name;
}

void BaselineStore::check_replaceable(const std::string& name, const record::Report& report,
                                      const CheckPath& check) const {
  const fs::path path = path_of(name, report);
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_directory(path, ignored)) check(path);
  for (const fs::path& entry : entries_of(path)) check(entry);
}

void BaselineStore::save(const std::string& name, const std::vector<report::NamedReport>& reports,
                         const CheckPath& check) const {
  std::map<fs::path, std::vector<const record::Report*>> baselines;
  for (const report::NamedReport& each : reports) {
    check_replaceable(name, each.report, check);
    baselines[path_of(name, each.report)].push_back(&each.report);
  }
  for (const auto& [path, runs] : baselines) save_one(path, runs);
}

Baseline BaselineStore::load(const std::string& name, const record::Report& report) const {
  const fs::path path = path_of(name, report);
  Baseline own = {.reports = reports_in(path)};
  if (!own.reports.empty()) return own;
  Baseline of_model = load_of_model(name, report);
  if (!of_model.reports.empty()) return of_model;
  throw Error(ErrorKind::kNotComparable,
              "{}: there is no baseline of this device{}; save one with \"nf4bench compare REPORT "
              "--save-baseline {}\"",
              escaped(path.string()), others(name), name);
}

// CPUs have no model's baseline: their times depend on more than the model.
Baseline BaselineStore::load_of_model(const std::string& name, const record::Report& report) const {
  Baseline baseline;
  if (report.device.uuid.empty()) return baseline;
  for (const fs::path& device : entries_of(folder_)) {
    std::vector<report::NamedReport> reports = reports_in(device / name);
    if (reports.empty() || reports.front().report.device.name != report.device.name) continue;
    ++baseline.other_units;
    std::move(reports.begin(), reports.end(), std::back_inserter(baseline.reports));
  }
  return baseline;
}

// What else the store holds under this name.
std::string BaselineStore::others(const std::string& name) const {
  std::vector<std::string> devices;
  for (const fs::path& device : entries_of(folder_)) {
    std::error_code ignored;
    if (fs::is_directory(device / name, ignored)) {
      devices.push_back(escaped(device.filename().string()));
    }
  }
  return devices.empty() ? "" : fmt::format(", only of {}", fmt::join(devices, ", "));
}

}  // namespace nf4bench::compare
