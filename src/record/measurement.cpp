#include "record/measurement.hpp"

namespace nf4bench::record {

const char* to_string(Status status) {
  switch (status) {
    case Status::kPassed:
      return "passed";
    case Status::kFailed:
      return "failed";
    case Status::kSkipped:
      return "skipped";
    case Status::kInvalid:
      return "invalid";
  }
  return "unknown";
}

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kPrecision:
      return "precision";
    case StopReason::kTimeLimit:
      return "time_limit";
    case StopReason::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

}  // namespace nf4bench::record
