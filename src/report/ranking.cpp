#include "report/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace nf4bench::report {
namespace {

// Where the median of a row may lie.
statistics::Interval reach_of(const record::Measurement& row) {
  const bool is_known = row.time_s->ci95 && !(row.load && row.load->disturbed);
  return is_known ? *row.time_s->ci95
                  : statistics::Interval{0.0, std::numeric_limits<double>::infinity()};
}

// The row of each disturbed cell, of which the first is the most disturbed.
std::vector<const record::Measurement*> disturbed_cells(const record::Report& report,
                                                        std::size_t& cells) {
  std::set<record::Cell> all;
  std::set<record::Cell> seen;
  std::vector<const record::Measurement*> disturbed;
  for (const record::Measurement& m : report.measurements) {
    if (!m.load) continue;
    all.insert(m.cell);
    if (m.load->disturbed && seen.insert(m.cell).second) disturbed.push_back(&m);
  }
  cells = all.size();
  return disturbed;
}

std::string remedy_for(const record::HostLoad& load, record::DeviceKind kind) {
  const int left = static_cast<int>(load.processors * (1.0 - load.stolen) - load.others);
  if (kind == record::DeviceKind::kCuda) return "wait until it is quiet, or use --launch graph";
  if (left < 1) return "wait until it is quiet";
  return fmt::format("wait until it is quiet, or leave processors to the others (--threads {})",
                     left);
}

}  // namespace

bool is_timed(const record::Measurement& row) {
  return row.status == record::Status::kPassed && row.time_s;
}

std::string doubt_of(const record::Measurement& row) {
  if (!is_timed(row)) return "";
  if (row.load && row.load->disturbed) return "busy machine";
  const std::optional<double> half_width = statistics::relative_half_width(*row.time_s);
  if (!half_width) return "few samples";
  return *half_width > kWidestHalf ? "wide spread" : "";
}

bool Ranking::is_candidate(const record::Measurement& row) const {
  return std::find(candidates.begin(), candidates.end(), &row) != candidates.end();
}

Ranking rank(const std::vector<const record::Measurement*>& rows) {
  std::vector<const record::Measurement*> timed;
  std::copy_if(
      rows.begin(), rows.end(), std::back_inserter(timed),
      [](const record::Measurement* row) { return is_timed(*row) && !row->reference_line; });
  if (timed.size() < 2) return {};
  const record::Measurement* fastest = *std::min_element(
      timed.begin(), timed.end(), [](const record::Measurement* a, const record::Measurement* b) {
        return a->time_s->median < b->time_s->median;
      });
  Ranking ranking;
  bool is_doubtful = false;
  const double latest = reach_of(*fastest).high;
  for (const record::Measurement* row : timed) {
    if (row != fastest && reach_of(*row).low > latest) continue;
    ranking.candidates.push_back(row);
    is_doubtful = is_doubtful || !doubt_of(*row).empty();
  }
  const bool is_decided = !is_doubtful || ranking.candidates.size() == 1;
  if (is_decided) return {.fastest = fastest, .candidates = {}};
  return ranking;
}

std::vector<std::string> load_warnings(const record::Report& report) {
  std::size_t cells = 0;
  const std::vector<const record::Measurement*> disturbed = disturbed_cells(report, cells);
  if (disturbed.empty()) return {};
  const record::HostLoad& worst =
      *(*std::max_element(disturbed.begin(), disturbed.end(),
                          [](const record::Measurement* a, const record::Measurement* b) {
                            return a->load->others < b->load->others;
                          }))
           ->load;
  const std::string stolen =
      worst.stolen > 0.0
          ? fmt::format(" and the host took {:.0f} % of their time", 100.0 * worst.stolen)
          : std::string();
  return {fmt::format(
      "Other programs kept up to {:.1f} of {} processors busy{} while {} of {} cells were timed: "
      "those times are a scheduler's; {}; nf4bench doctor tells more.",
      worst.others, worst.processors, stolen, disturbed.size(), cells,
      remedy_for(worst, report.device.kind))};
}

}  // namespace nf4bench::report
