#pragma once

// A stand-in for the driver's management library with one GPU, at 0000:3b:00.0. It has the real
// one's file name, and so is what Nvml finds in a program that is linked with it.

#include <map>
#include <string>
#include <vector>

namespace nf4bench::test {

struct FakeProcess {
  unsigned pid = 0;
  std::string name;
  unsigned long long memory = 0;
};

// What the library answers, in NVML's own units: MHz, mW, percent, ns.
struct FakeGpu {
  unsigned sm_clock = 1980;
  unsigned memory_clock = 3201;
  unsigned max_sm_clock = 1980;
  unsigned busy = 0;
  unsigned long long reasons = 0;
  unsigned power_limit = 700000;
  unsigned default_power_limit = 700000;
  unsigned persistence = 1;
  unsigned ecc = 1;
  unsigned ecc_pending = 1;
  unsigned long long ecc_errors = 0;
  unsigned remapped_corrected = 0;
  unsigned remapped_uncorrected = 0;
  unsigned remapping_pending = 0;
  unsigned remapping_failed = 0;
  unsigned mig = 0;
  unsigned temperature = 41;
  unsigned long long energy = 123'456'789;  // mJ
  unsigned pcie_generation = 5;
  unsigned pcie_most_generation = 5;  // of card and slot
  unsigned pcie_card_generation = 5;
  unsigned pcie_width = 16;
  unsigned pcie_most_width = 16;
  std::vector<unsigned> nvlinks = std::vector<unsigned>(18, 1);  // active or not
  int cuda_version = 13000;
  std::vector<FakeProcess> computing;
  std::vector<FakeProcess> drawing;
  unsigned long long slowed_by_power = 0;
  unsigned long long slowed_by_heat = 0;
  std::map<std::string, int> failures;  // what functions return instead of success
  int started = 0;                      // calls of nvmlInit less those of nvmlShutdown
};

FakeGpu& fake_gpu();

}  // namespace nf4bench::test
