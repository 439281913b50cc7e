#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "fleet/builder.hpp"
#include "report/report.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

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

std::string left_out_text(const char* what, const std::vector<LeftOut>& reports) {
  constexpr std::size_t kMostNamed = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(reports.size(), kMostNamed); ++i) {
    text += fmt::format("{}: {}: {}\n", what, escaped(reports[i].report), reports[i].reason);
  }
  if (reports.size() > kMostNamed) {
    text += fmt::format("{}: {} more\n", what, reports.size() - kMostNamed);
  }
  return text;
}

std::string merge_text(const Fleet& fleet) {
  std::string text = left_out_text("refused", fleet.refused) +
                     left_out_text("replaced", fleet.replaced) +
                     left_out_text("not read", fleet.unread);
  for (const std::string& name : fleet.missing) {
    text += fmt::format("missing: {}\n", escaped(name));
  }
  for (const Group& group : fleet.groups) {
    text += fmt::format("merged: {} with {}\n", text::format_count(std::ssize(group.units), "unit"),
                        text::format_count(std::ssize(group.cells), "cell"));
  }
  if (!fleet.refused.empty()) {
    text +=
        "Refused reports differ in what times depend on; --by NAME puts those that differ in NAME "
        "into a group of their own.\n";
  }
  return text;
}

}  // namespace nf4bench::fleet
