#pragma once

#include "compare/report_maker.hpp"

#include <fmt/format.h>

#include <vector>

namespace nf4bench::test {

// The report of unit `number` of a fleet, one minute after that of the unit before it.
inline report::NamedReport unit_run(int number, const std::vector<Timing>& timings) {
  report::NamedReport run = named_run(fmt::format("unit{}.json", number), number, timings);
  run.report.host.name = fmt::format("node{}", number / 4);
  run.report.device.uuid = fmt::format("GPU-{:08}", number);
  return run;
}

}  // namespace nf4bench::test
