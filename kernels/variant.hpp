#pragma once

// The contract between a kernel variant and everything that verifies, times and lists it.
// C++17 and std only. To add a variant see docs/adding-a-variant.md.

#include "problem.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

struct CUstream_st;  // cudaStream_t without the CUDA headers

namespace nf4bench::kernels {

struct Activation;

// A problem with its buffers. Borrowed pointers into memory of the device that runs it; all
// 256-byte aligned at their start, none padded at their end: a byte past the stated length is
// another allocation's.
struct Job : Problem {
  const std::uint8_t* packed = nullptr;        // packed_bytes(elements) bytes, high nibble first
  const float* absmax = nullptr;               // plain: `blocks` scales; nested: null
  const std::uint8_t* absmax_codes = nullptr;  // nested: `blocks` codes; plain: null
  const float* nested_absmax = nullptr;        // nested: block_count(blocks, 256) values
  const float* nested_map = nullptr;           // nested: 256 values
  const float* nested_offset = nullptr;        // nested: a value that is added to every scale
  float nested_offset_value = 0.0f;  // the same for peers that take it by value; ours read memory
  const void* input = nullptr;       // what the operation takes besides the weight
  // A product's: `outputs` values of the output type, which each token's sums are added to; null:
  // none. Only the kernels that own.hpp chooses from read it.
  const void* bias = nullptr;  // of a stack for each expert
  // A grouped product's. Ids of Grouping::id_bytes: the experts of the slots, or ends; a slot whose
  // id is no expert's contributes zero. Weights that the slots are multiplied with; null: 1.
  const void* ids = nullptr;
  const void* slot_weights = nullptr;
  OutputType slot_weight_type = OutputType::kFloat32;
  const Activation* activation = nullptr;  // of one that Grouping::activates, in host memory
  void* output = nullptr;                  // of the size that the operation says
  void* workspace = nullptr;               // what workspace_bytes() asked for; contents undefined
  void* prepared = nullptr;                // what prepared_bytes() asked for; as prepare() left it
};

// Makes the weight of `job` begin so many whole blocks later, in nested ones whole groups of them.
inline void skip_blocks(Job& job, std::int64_t blocks) {
  job.packed += (blocks << job.block_shift) / 2;
  if (job.nested) {
    job.absmax_codes += blocks;
    job.nested_absmax += blocks / kNestedBlocksize;
  } else {
    job.absmax += blocks;
  }
}

// Where and how to launch. `stream` is null on the CPU.
struct Launch {
  CUstream_st* stream = nullptr;
  DeviceFacts device;
  const char* config = nullptr;  // forces a named configuration of variants that choose one
};

// Facts about how a variant works, for listings and reports.
struct Traits {
  int launches = 1;          // kernels (CUDA) or passes over the data (CPU) a call
  bool inline_ptx = false;   // decodes with inline PTX
  bool cache_hints = false;  // uses load/store cache operators or eviction policies
  bool persistent = false;   // launches a grid that fits the device and loops
  bool capturable = true;    // its launches can be recorded into a CUDA graph
  bool activates = false;    // it can do what Grouping::activates says
  // It reads what prepare() made in place of the NF4 weight: a line to compare with, not ranked.
  bool reference_line = false;
  // It defines the operation, in one thread: timed only where somebody names it.
  bool on_request = false;
  const char* compiled_from = "";  // the variant that this is through torch.compile
  const char* peer = "";           // the peer that it comes from; empty for our own
  const char* mirrors = "";        // the published design it stands for, or what it is
};

// One implementation of an operation. Plain data; the catalogues are ordered lists of these.
// Built-in variants give plain functions; one that needs more than its arguments captures it.
struct Variant {
  const char* name = "";     // snake_case, unique in its catalogue
  const char* summary = "";  // one line: the idea
  Traits traits;

  // Null when the variant can do `problem` there, else the reason it cannot (a static string).
  // Empty: it can do every problem.
  std::function<const char*(const Problem& problem, const DeviceFacts& device)> unsupported;

  // Device bytes that a call launched like this needs besides its inputs and output; the stream
  // does not matter. Empty: none.
  std::function<std::size_t(const Problem& problem, const Launch& launch)> workspace_bytes;

  // Enqueues the work (CUDA) or does it (CPU). Touches nothing outside the job's buffers. Launch
  // errors are the caller's to check, with cudaGetLastError.
  std::function<void(const Job& job, const Launch& launch)> launch;

  // Optional, for a variant that stands for a part of a longer chain: enqueues what comes before
  // that part, untimed and never in a graph. What it leaves in job.prepared, of prepared_bytes()
  // device bytes, is there at every launch of the same job.
  std::function<void(const Job& job, const Launch& launch)> prepare;
  std::function<std::size_t(const Problem& problem)> prepared_bytes;

  // For a variant that works in another process: has it do `jobs` there, one after the other, and
  // returns the seconds that they took. Without jobs, what its threads may still be at gets time to
  // end. Empty: launch() works in this process.
  std::function<double(const std::vector<Job>& jobs, const Launch& launch)> launch_elsewhere;

  // Names that Launch::config may have, null-terminated; null for variants that choose nothing.
  const char* const* configs = nullptr;
};

// Why `variant` cannot do `problem` there; null when it can.
inline const char* why_unsupported(const Variant& variant, const Problem& problem,
                                   const DeviceFacts& device) {
  if (problem.group.activates && !variant.traits.activates) return "does not activate";
  return variant.unsupported ? variant.unsupported(problem, device) : nullptr;
}

// The workspace that `variant` needs for `problem` there, in bytes.
inline std::int64_t workspace_of(const Variant& variant, const Problem& problem,
                                 const Launch& launch) {
  if (!variant.workspace_bytes) return 0;
  return static_cast<std::int64_t>(variant.workspace_bytes(problem, launch));
}

// What its prepare() makes for a problem, in bytes.
inline std::int64_t prepared_of(const Variant& variant, const Problem& problem) {
  return variant.prepare ? static_cast<std::int64_t>(variant.prepared_bytes(problem)) : 0;
}

}  // namespace nf4bench::kernels
