#include "bench/fault.hpp"

#include <fmt/format.h>

namespace nf4bench::bench {
namespace {

// Why not even a small upload works any more; empty when it does.
std::string problem_of(device::Device& device) {
  const std::vector<std::byte> content(64);
  device::Work probe;
  probe.name = "probe";
  probe.inputs = {{.content = content}};
  probe.output_bytes = 256;
  probe.bind = [](std::span<std::byte* const>, std::byte*) { return kernels::Job(); };
  try {
    device.upload(probe, device::UploadPurpose::kVerify);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Whose calls have a limit already, at which that process ends and this one goes on.
bool has_own_process(const RunContext& context, const Caller& caller) {
  return caller.index && context.variants[*caller.index].variant.launch_elsewhere;
}

}  // namespace

DeviceLost::DeviceLost(const Caller& caller, const std::string& cause, const std::string& after)
    : Error(ErrorKind::kDevice, "{}: {}; after that the device works no more: {}", caller.name,
            cause, after),
      caller_(caller),
      cause_(cause) {}

std::optional<std::string> device_failure(const RunContext& context, const Caller& caller,
                                          const std::function<void()>& call) {
  std::optional<Watchdog::Watch> watch;
  if (!has_own_process(context, caller)) watch.emplace(context.watchdog, caller);
  try {
    call();
    return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDevice) throw;
    const std::string after = problem_of(context.device);
    if (!after.empty()) throw DeviceLost(caller, error.what(), after);
    return error.what();
  }
}

namespace {

std::string what_is_wrong(const RunContext& context, const device::OutputFault& fault) {
  const std::string some = fmt::format("{} of {} elements", fault.elements, fault.found.compared);
  switch (fault.kind) {
    case device::FaultKind::kUnwritten:
      return some + " are not written";
    case device::FaultKind::kSkipped:
      return some +
             ", which were spoilt among right ones, are not written: what is there already is "
             "skipped";
    case device::FaultKind::kForeign:
      return some + " hold what belongs to another buffer set";
    case device::FaultKind::kStale:
      return some +
             " are what the inputs gave before they changed in place: the output, or part of it, "
             "was remembered";
    case device::FaultKind::kLate:
      return some +
             " are right only after the sample has ended: they are written late, on another stream "
             "or thread";
    case device::FaultKind::kStray:
      return "the output of this set was written, though no call was given it";
    case device::FaultKind::kWrong:
      break;
  }
  return context.operation.describe_fault(fault.found);
}

}  // namespace

std::string describe_fault(const RunContext& context, const CellSpec& spec,
                           const device::OutputFault& fault) {
  return fmt::format("in a timed sample ({} {}, set {} of {}): {}", to_string(spec.cache),
                     to_string(spec.launch), fault.set, fault.sets, what_is_wrong(context, fault));
}

}  // namespace nf4bench::bench
