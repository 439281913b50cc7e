#pragma once

#include <cstdint>
#include <optional>

namespace nf4bench::record {

// What happened on the processors of the host while a cell was timed.
struct HostLoad {
  int processors = 0;   // that the program may run on
  double others = 0.0;  // of them, that other programs kept busy, on average and at least: what the
                        // system's coarse clock may have counted too much is taken off
  double stolen = 0.0;  // share of their time that the host gave to other virtual machines
  std::int64_t involuntary_switches = 0;  // threads of this program lost a processor so often
  bool disturbed = false;                 // see is_disturbed()
};

// Whether others left fewer than nine tenths of the processors that `threads` threads can use: from
// then on threads wait for each other's turn, and times are those of the scheduler.
bool is_disturbed(const HostLoad& load, int threads);

}  // namespace nf4bench::record
