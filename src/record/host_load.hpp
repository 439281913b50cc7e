#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nf4bench::record {

// What happened on the processors of the host while a cell was timed.
struct HostLoad {
  int processors = 0;   // that the program may run on
  double others = 0.0;  // of them, that other programs kept busy, on average and at least: what the
                        // system's coarse clock may have counted too much is taken off
  double stolen = 0.0;  // share of their time that the host gave to other virtual machines
  double idle_threads = 0.0;  // of them, that threads of peers kept busy that nobody had called, on
                              // average over the samples of the row
  std::string idle_threads_of{};  // the peers whose threads these are, as far as that is known
  std::int64_t involuntary_switches = 0;  // threads of this program lost a processor so often
  bool disturbed = false;                 // see is_disturbed()
};

// Whether others, and idle threads of peers, left fewer than nine tenths of the processors that
// `threads` threads can use: from
// then on threads wait for each other's turn, and times are those of the scheduler.
bool is_disturbed(const HostLoad& load, int threads);

// Who kept the processors busy: "other programs kept 1.2 of 2 processors busy", where `kept` is
// "kept".
std::string busy_words(const HostLoad& load, const char* kept = "kept");

}  // namespace nf4bench::record
