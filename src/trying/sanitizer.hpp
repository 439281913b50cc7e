#pragma once

#include "base/field.hpp"
#include "record/run_options.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::trying {

// What a tool of compute-sanitizer found in a kernel, as often as it did at this place.
struct SanitizerFinding {
  std::string tool;  // memcheck, racecheck, initcheck or synccheck
  std::string kind;  // "Invalid __global__ write of size 4 bytes"
  std::string kernel{};
  std::string file{};  // empty: not known
  std::int64_t line = 0;
  std::string thread{};  // "(0,0,0)", the first one
  std::string block{};
  std::string address{};  // "0x7f6510c00001 is misaligned"
  std::int64_t times = 1;
};

struct Sanitized {
  std::vector<SanitizerFinding> findings;
  std::string problem;  // why not all tools have looked at it; empty: they have
};

template <Is<SanitizerFinding> Finding, class F>
void fields(Finding& s, F&& f) {
  f("tool", s.tool);
  f("kind", s.kind);
  f("kernel", s.kernel, kOrNull);
  f("file", s.file, kOrNull);
  f("line", s.line, kOrNull);
  f("thread", s.thread, kOrNull);
  f("block", s.block, kOrNull);
  f("address", s.address, kOrNull);
  f("times", s.times);
}
template <Is<Sanitized> Done, class F>
void fields(Done& s, F&& f) {
  f("findings", s.findings);
  f("problem", s.problem, kOrNull);
}

// What `log`, written by a tool of compute-sanitizer, tells.
std::vector<SanitizerFinding> findings_in(const std::string& log, const std::string& tool);

// Runs "nf4bench run" with `options` under each tool of compute-sanitizer, which is looked for on
// PATH and in /usr/local/cuda. Of kernels called `symbols` the first launches are looked at; of
// none: all launches of all kernels.
Sanitized sanitize(const record::RunOptions& options, const std::vector<std::string>& symbols,
                   const std::atomic<bool>& interrupted);

}  // namespace nf4bench::trying
