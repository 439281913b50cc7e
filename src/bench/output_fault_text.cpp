#include "bench/output_fault_text.hpp"

#include <fmt/format.h>

namespace nf4bench::bench {
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
