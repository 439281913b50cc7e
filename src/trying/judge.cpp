#include "base/error.hpp"
#include "operation/weight.hpp"
#include "report/report.hpp"
#include "trying/hints.hpp"
#include "trying/try_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace nf4bench::trying {
namespace {

using record::Measurement;

constexpr int kSignalled = 128;

// "mine" and "mine.wide" are of the peer "mine".
bool is_of(const std::string& variant, const std::string& peer) {
  return variant == peer || variant.starts_with(peer + ".");
}

std::string own_name(const std::string& variant) {
  const std::size_t dot = variant.find('.');
  return dot == std::string::npos ? "" : variant.substr(dot + 1);
}

bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

// Of something that went wrong, by what was said of it.
Status status_of_reason(const std::string& reason) {
  if (says(reason, "did not return within")) return Status::kTimeout;
  if (says(reason, "implausible: ")) return Status::kImplausible;
  for (const char* const words :
       {"crashed: signal", "ended its process", "was killed", "of memory, more than",
        "writes without end", "sends what is no answer", "illegal memory access",
        "misaligned address", "illegal instruction", "unspecified launch failure"}) {
    if (says(reason, words)) return Status::kCrash;
  }
  for (const char* const words :
       {"wrote before the start", "wrote past the end", "wrote into its inputs"}) {
    if (says(reason, words)) return Status::kWrong;
  }
  return Status::kRefused;
}

// What was right at first, and is not since the inputs have changed or when it is called again,
// remembers something.
Status status_of_wrong(const Measurement& row) {
  using record::FaultKind;
  const std::optional<FaultKind> fault = row.verification->fault;
  const bool remembers =
      fault == FaultKind::kStale || fault == FaultKind::kForeign || fault == FaultKind::kSkipped ||
      (fault == FaultKind::kUnwritten && row.reason.starts_with("in a timed ")) ||
      row.reason.starts_with("after timing: ");
  return remembers ? Status::kStateful : Status::kWrong;
}

Status status_of(const Measurement& row) {
  switch (row.status) {
    case record::Status::kPassed:
      return Status::kOk;
    case record::Status::kSkipped:
      return Status::kUnsupported;
    case record::Status::kInvalid:
      return Status::kImplausible;
    case record::Status::kFailed:
      break;
  }
  if (row.verification && (!row.verification->passed() || row.verification->fault)) {
    return status_of_wrong(row);
  }
  return status_of_reason(row.reason);
}

Against against(const Measurement& other, const std::string& name, const Measurement& mine) {
  const std::size_t rounds = std::min(other.samples_s.size(), mine.samples_s.size());
  const statistics::PairedRatio paired = statistics::paired_ratio(
      std::span(other.samples_s).first(rounds), std::span(mine.samples_s).first(rounds));
  return {name, paired.ratio, paired.ci95};
}

// What stands beside one row of the kernel.
class Rivals {
 public:
  Rivals(const record::Report& report, const Measurement& mine) : report_(report), mine_(mine) {}

  std::optional<Against> fastest() const {
    const Measurement* best = nullptr;
    for (const Measurement& row : report_.measurements) {
      const bool is_built_in = !is_of(row.variant, kMine) && !is_of(row.variant, kLast);
      if (!is_beside(row) || !is_built_in || row.reference_line) continue;
      if (best == nullptr || row.time_s->median < best->time_s->median) best = &row;
    }
    if (best == nullptr) return std::nullopt;
    return against(*best, best->variant, mine_);
  }

  std::optional<Against> baseline() const {
    for (const record::MeasuredOperation& each : report_.settings.operations) {
      if (each.name == mine_.cell.operation) return with(each.baseline, each.baseline);
    }
    return std::nullopt;
  }

  std::optional<Against> last(const std::string& id) const {
    return with(kLast + mine_.variant.substr(std::strlen(kMine)), id);
  }

 private:
  bool is_beside(const Measurement& row) const {
    return row.cell == mine_.cell && row.time_s && !row.samples_s.empty();
  }

  std::optional<Against> with(const std::string& variant, const std::string& name) const {
    for (const Measurement& row : report_.measurements) {
      if (is_beside(row) && row.variant == variant) return against(row, name, mine_);
    }
    return std::nullopt;
  }

  const record::Report& report_;
  const Measurement& mine_;
};

// Of the kernel, launched for the problem of a row, or of all that may be it.
std::vector<peer::KernelFacts> facts_of(const record::Report& report, const TriedCell& cell,
                                        const std::string& program, const std::string& sass) {
  kernels::Problem problem = operation::problem_of(
      operation::WeightSize{
          .shape = cell.shape,
          .blocksize = cell.blocksize,
          .absmax_kind = cell.nested ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain},
      cell.output_type);
  problem.tokens = cell.tokens;
  return peer::kernel_facts(program, cell.variant, problem,
                            {.compute_capability = report.device.compute_capability,
                             .multiprocessors = report.device.multiprocessors},
                            sass);
}

TriedCell cell_of(const record::Report& report, const Measurement& row, const Attempt& attempt,
                  const std::string& sass) {
  TriedCell cell;
  cell.variant = own_name(row.variant);
  cell.operation = row.cell.operation;
  for (const record::ReportTensor& tensor : report.tensors) {
    if (tensor.id != row.cell.tensor) continue;
    cell.shape = tensor.geometry.shape;
    cell.blocksize = tensor.geometry.blocksize;
    cell.nested = tensor.geometry.absmax_kind == nf4::AbsmaxKind::kNested;
  }
  cell.output_type = row.cell.output_type;
  cell.tokens = row.cell.tokens;
  cell.status = status_of(row);
  cell.reason = row.reason;
  if (row.verification) {
    cell.mismatches = row.verification->mismatches;
    cell.first_wrong = row.verification->first_wrong;
    if (row.verification->accuracy) cell.max_error = row.verification->accuracy->max_error;
  }
  std::vector<peer::KernelFacts> facts = facts_of(report, cell, attempt.program, sass);
  if (facts.size() == 1) {
    cell.kernel = std::move(facts.front());
  } else {
    cell.kernels = std::move(facts);
  }
  cell.counters = row.counters;
  cell.fraction_of_copy = row.fraction_of_copy;
  cell.hint = hint_for(cell, report.device.multiprocessors);
  if (!row.time_s || row.samples_s.empty()) return cell;
  cell.median_s = row.time_s->median;
  cell.ci95 = row.time_s->ci95;
  cell.bytes_per_s = row.bytes_per_s;
  cell.flops_per_s = row.flops_per_s;
  if (row.roof) cell.fraction_of_roof = row.roof->fraction;
  const Rivals rivals(report, row);
  cell.fastest = rivals.fastest();
  cell.baseline = rivals.baseline();
  if (!attempt.last.empty()) cell.last = rivals.last(attempt.last);
  cell.disturbed = row.load && row.load->disturbed;
  return cell;
}

// The last line that tells of an error, without this program's name.
std::string last_error(const std::string& err) {
  constexpr std::string_view kMark = "nf4bench: error: ";
  const std::size_t at = err.rfind(kMark);
  if (at == std::string::npos) return "";
  const std::size_t from = at + kMark.size();
  return err.substr(from, err.find('\n', from) - from);
}

void end_with(Attempt& attempt, Status status, const std::string& reason) {
  attempt.status = status;
  attempt.reason = reason;
}

// Of a run whose report is whole: the worst of its cells.
void judge_cells(Attempt& attempt, const record::Report& report) {
  for (const TriedCell& cell : attempt.cells) {
    if (cell.status > attempt.status) end_with(attempt, cell.status, cell.reason);
  }
  if (!attempt.cells.empty()) return;
  const std::string mark = fmt::format("peer {}: ", kMine);
  for (const std::string& warning : report.warnings) {
    if (!warning.starts_with(mark)) continue;
    const bool is_other = says(warning, "has no variant of");
    return end_with(attempt, is_other ? Status::kUnsupported : status_of_reason(warning),
                    warning.substr(mark.size()));
  }
  end_with(attempt, Status::kRefused, "nothing of it was measured");
}

// Of a run that ended before its time, for which nothing but the kernel can be blamed.
void judge_end(Attempt& attempt, const std::optional<record::Report>& report,
               const ChildOutcome& outcome) {
  const std::string error = last_error(outcome.err);
  if (outcome.was_silent) return end_with(attempt, Status::kTimeout, "the run made no progress");
  if (says(error, "did not return within")) return end_with(attempt, Status::kTimeout, error);
  if (outcome.exit_code > kSignalled) {
    const int number = outcome.exit_code - kSignalled;
    return end_with(attempt, Status::kCrash,
                    fmt::format("crashed: signal {} ({})", number, strsignal(number)));
  }
  const auto code = static_cast<ExitCode>(outcome.exit_code);
  if (!error.empty()) {
    if (report && status_of_reason(error) == Status::kCrash) {
      return end_with(attempt, Status::kCrash, error);
    }
    const ErrorKind kind = code == ExitCode::kUsage      ? ErrorKind::kUsage
                           : code == ExitCode::kBadInput ? ErrorKind::kInput
                                                         : ErrorKind::kDevice;
    throw Error(kind, error);
  }
  end_with(attempt, Status::kCrash,
           fmt::format("ended its process with exit code {}, which a kernel must not",
                       outcome.exit_code));
}

}  // namespace

void judge(Attempt& attempt, const std::optional<record::Report>& report,
           const ChildOutcome& outcome, const std::string& sass) {
  if (report) {
    attempt.device = report->device.name;
    attempt.version = report->tool.version;
    for (const Measurement& row : report->measurements) {
      if (is_of(row.variant, kMine)) attempt.cells.push_back(cell_of(*report, row, attempt, sass));
    }
  }
  if (report && report->complete) {
    judge_cells(attempt, *report);
  } else {
    judge_end(attempt, report, outcome);
  }
  // Where a compiled file lies tells nobody anything.
  const std::size_t at =
      attempt.program.empty() ? std::string::npos : attempt.reason.find(attempt.program);
  if (at != std::string::npos) attempt.reason.replace(at, attempt.program.size(), attempt.file);
}

}  // namespace nf4bench::trying
