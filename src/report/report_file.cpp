#include "report/report_file.hpp"

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace nf4bench::report {
namespace {

constexpr std::chrono::milliseconds kLeastPause{500};
constexpr int kCostFactor = 20;  // writing takes at most a twentieth of the run

// True for a path at which there is a regular file, or may be one.
bool names_a_regular_file(const std::string& path) {
  if (path.empty() || path == "-") return false;
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  using std::filesystem::file_type;
  return type != file_type::fifo && type != file_type::character && type != file_type::socket &&
         type != file_type::block;
}

}  // namespace

bool begins_as_report(std::string_view beginning) {
  return beginning.starts_with(
      fmt::format("{{\n  \"schema\": \"{}\",", std::string_view(record::kReportSchema)));
}

ReportFile::ReportFile(std::string path, const record::Report& report, AtomicFile::Check check,
                       TextOf text_of)
    : path_(std::move(path)),
      report_(report),
      check_(std::move(check)),
      text_of_(std::move(text_of)),
      is_replaceable_(names_a_regular_file(path_)) {
  if (path_.empty()) is_saved_ = true;
  if (is_replaceable_) start();
}

void ReportFile::start() {
  lock_.emplace(behind_links(path_));
  if (lock_->is_taken()) {
    is_saved_ = true;  // it is not ours to save
    throw Error(
        ErrorKind::kOutput,
        "{}: another nf4bench{} is writing this report; wait for it to end, or name another file",
        escaped(path_), lock_->holder().empty() ? "" : " (process " + lock_->holder() + ")");
  }
  remove_leftovers(path_);
  std::error_code ignored;
  has_older_ = std::filesystem::exists(path_, ignored);
  if (has_older_) {
    AtomicFile(path_).write(text_of_(report_));  // a trial, dropped again
  } else {
    save();
  }
  next_save_ = {};  // the first measurement is kept at once
}

ReportFile::~ReportFile() {
  if (is_saved_) return;
  try {
    save();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): another error is on its way already
  }
}

void ReportFile::changed() {
  if (path_.empty()) return;
  is_saved_ = false;
  const Clock::time_point before = Clock::now();
  if (!is_replaceable_ || before < next_save_) return;
  try {
    save();
  } catch (const Error&) {
    is_saved_ = false;
    plan_next_save(before);
  }
}

void ReportFile::finish() {
  if (!path_.empty()) save();
  lock_.reset();
}

void ReportFile::save() {
  const Clock::time_point before = Clock::now();
  is_saved_ = true;  // set first: a path that failed once is not tried again by the destructor
  if (has_older_ && !report_.complete && report_.measurements.empty()) return;
  if (path_ == "-") {
    write_stdout(text_of_(report_));
  } else {
    write_file(path_, text_of_(report_), check_);
  }
  has_older_ = false;
  plan_next_save(before);
}

void ReportFile::plan_next_save(Clock::time_point before) {
  const Clock::time_point after = Clock::now();
  next_save_ = after + std::max<Clock::duration>(kLeastPause, kCostFactor * (after - before));
}

}  // namespace nf4bench::report
