#include "record/measurement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace nf4bench::record {

bool is_disturbed(const HostLoad& load, int threads) {
  constexpr double kEnough = 0.9;
  const double wanted = std::min(threads, load.processors);
  const double left = load.processors * (1.0 - load.stolen) - load.others - load.idle_threads;
  return left < kEnough * wanted;
}

std::string busy_words(const HostLoad& load, const char* kept) {
  std::vector<std::string> parts;
  if (load.others > 0.0 || load.idle_threads <= 0.0) {
    parts.push_back(fmt::format("other programs {} {:.1f} of {} processors busy", kept, load.others,
                                load.processors));
  }
  if (load.idle_threads > 0.0) {
    const std::string whose =
        load.idle_threads_of.empty() ? "peers" : "peer " + load.idle_threads_of;
    parts.push_back(fmt::format("threads of {} that nobody had called {} {:.1f} of {} busy", whose,
                                kept, load.idle_threads, load.processors));
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

}  // namespace nf4bench::record
