#include "record/host_load.hpp"

#include <algorithm>

namespace nf4bench::record {

bool is_disturbed(const HostLoad& load, int threads) {
  constexpr double kEnough = 0.9;
  const double wanted = std::min(threads, load.processors);
  const double left = load.processors * (1.0 - load.stolen) - load.others;
  return left < kEnough * wanted;
}

}  // namespace nf4bench::record
