#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "fleet/builder.hpp"
#include "report/report_input.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace nf4bench::fleet {
namespace {

// What one file comes to.
struct ReadReport {
  std::optional<UnitReport> report;
  std::string problem;  // why there is none
};

ReadReport read_one(const std::string& path) {
  try {
    return {unit_report(report::read_report(path)), ""};
  } catch (const Error& error) {
    std::string problem = error.what();
    const std::string prefix = escaped(path) + ": ";  // the path is told beside it
    return {std::nullopt, problem.starts_with(prefix) ? problem.substr(prefix.size()) : problem};
  }
}

// Reads in parallel and adds in order: a few reports are in memory at once, and the result does not
// depend on threads.
void add_reports(FleetBuilder& builder, std::span<const std::string> paths) {
  const std::size_t batch = 8 * static_cast<std::size_t>(hardware_threads());
  while (!paths.empty()) {
    const auto files = paths.first(std::min(batch, paths.size()));
    std::vector<ReadReport> read(files.size());
    parallel_for(std::ssize(read), 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        read[i] = read_one(files[i]);
      }
    });
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i].report) {
        builder.add(std::move(*read[i].report));
      } else {
        builder.add_unread({files[i], read[i].problem});
      }
    }
    paths = paths.subspan(files.size());
  }
}

}  // namespace

Fleet merge_reports(const std::vector<std::string>& paths, const std::vector<std::string>& by,
                    const FleetDates& dates) {
  FleetBuilder builder(dates);
  add_reports(builder, paths);
  return builder.finish(by);
}

}  // namespace nf4bench::fleet
