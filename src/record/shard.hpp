#pragma once

#include <string>

namespace nf4bench::record {

// Which of the tasks a run is that somebody started together, one for each GPU.
struct Shard {
  int index = 0;       // from 0
  int count = 0;       // of the tasks; 0: not known
  bool split = false;  // they share the geometries; else each measures all of them
  std::string origin;  // who says so: "--shard", "SLURM_PROCID"
};

// "shard 2 of 8"; without the number of tasks "shard 2".
std::string shard_text(int index, int count);

}  // namespace nf4bench::record
