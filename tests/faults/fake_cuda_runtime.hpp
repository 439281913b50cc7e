#pragma once

// The part of the CUDA runtime that src/device uses, on the host: device memory is host memory,
// kernels run at once, and any call can be made to fail. Linked in place of the real one, so that
// every failure path of the CUDA device runs on a machine without a GPU. Allocations of whole 2 MiB
// are files that other processes with this runtime can open by their handles, as those of CUDA.

#include "variant.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::fake_cuda {

// Which calls are counted, and fail when their turn comes.
enum class Counted : std::uint8_t { kAllocations, kAllCalls };

// How the machine is, and what goes wrong.
struct Script {
  int devices = 1;
  cudaError_t no_device = cudaSuccess;  // what asking for devices returns
  int driver_version = 13000;
  Counted counted = Counted::kAllCalls;
  std::int64_t fail_at = 0;  // number of the call that fails, from 1; 0 for none
  cudaError_t error = cudaErrorUnknown;
  bool is_lazy_in_graphs = false;  // launches that are captured do half of their work
  bool is_sticky = false;          // every later call fails with the same error, as after a fault
};

// Words in this environment variable say how a process and those that it starts fare, from their
// beginnings: "timed" (events tell the time that has passed), "alone" (the device shares no
// memory), "unopenable" (another process's memory cannot be opened).
inline constexpr const char* kSetting = "NF4BENCH_TEST_CUDA";

// What persisting lines may take of L2 in a new process.
inline constexpr std::size_t kL2SetAside = 768;

// Starts again: nothing counted, nothing broken.
void play(const Script& script);

std::int64_t counted_calls();

// The name of the call that failed; empty when none did.
const std::string& failed_call();

// Since the last play().
bool was_called(const std::string& name);

// By one cudaMemsetAsync(), since the last play().
std::size_t most_filled();

// Allocations that were freed while another process had them open, which is undefined.
std::int64_t freed_while_open();

// Allocations, streams, events and graphs that nobody has released.
std::int64_t live_objects();

}  // namespace nf4bench::fake_cuda
