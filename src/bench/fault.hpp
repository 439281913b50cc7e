#pragma once

#include "base/error.hpp"
#include "bench/cell.hpp"
#include "bench/run_context.hpp"
#include "bench/watchdog.hpp"

#include <functional>
#include <optional>
#include <string>

namespace nf4bench::bench {

// The device stopped working while it did the work of `caller`, and the run cannot go on.
class DeviceLost : public Error {
 public:
  DeviceLost(const Caller& caller, const std::string& cause, const std::string& after);

  const Caller& caller() const { return caller_; }
  const std::string& cause() const { return cause_; }  // what the caller's own call reported

 private:
  Caller caller_;
  std::string cause_;
};

// Runs `call`, which asks the device to do the work of `caller`, and has the watchdog watch it. An
// Error(kDevice) is that caller's failure and its message is returned; empty when the call went
// well. CUDA reports some faults on every later call, whoever makes it: the device is therefore
// asked for a small upload, and when that fails as well DeviceLost is thrown, with both messages.
std::optional<std::string> device_failure(const RunContext& context, const Caller& caller,
                                          const std::function<void()>& call);

// Why what a variant left in a timed sample is wrong: "in a timed sample (cold graph, set 7 of
// 115): 8388608 of 16777216 elements are not written".
std::string describe_fault(const RunContext& context, const CellSpec& spec,
                           const device::OutputFault& fault);

}  // namespace nf4bench::bench
