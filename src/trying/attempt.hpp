#pragma once

#include "base/field.hpp"
#include "nf4/format.hpp"
#include "peer/kernel/kernel_program.hpp"
#include "peer/source_file.hpp"
#include "record/fields.hpp"
#include "record/verification.hpp"
#include "statistics/statistics.hpp"
#include "trying/sanitizer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::trying {

inline constexpr char kSchema[] = "nf4bench.try";
inline constexpr int kSchemaVersion = 1;

// What came of trying a kernel.
enum class Status : std::uint8_t {
  kOk,           // right and timed
  kUnsupported,  // it says that it cannot do this, or there is nothing of it for the device
  kRefused,      // it cannot be used: no entry, a bad table, an error of its own launch
  kImplausible,  // faster than the memory
  kStateful,     // right once: it remembers an answer, or takes what lies in its output for one
  kWrong,
  kTimeout,
  kCrash,
  kCompileError,
};

constexpr auto words(Status /*any*/) {
  using enum Status;
  return std::to_array<Word<Status>>({{kOk, "ok"},
                                      {kUnsupported, "unsupported"},
                                      {kRefused, "refused"},
                                      {kImplausible, "implausible"},
                                      {kStateful, "stateful"},
                                      {kWrong, "wrong"},
                                      {kTimeout, "timeout"},
                                      {kCrash, "crash"},
                                      {kCompileError, "compile_error"}});
}

// How much faster than another variant: its time over that of the kernel, round by round.
struct Against {
  std::string variant;
  double ratio = 1.0;
  std::optional<statistics::Interval> ci95{};  // none with too few rounds
};

// One kernel of the file on one problem.
struct TriedCell {
  std::string variant;  // empty: the file's only one, or that without a name
  std::string operation;
  std::vector<std::int64_t> shape;
  int blocksize = 0;
  bool nested = false;
  nf4::OutputType output_type = nf4::OutputType::kFloat16;
  std::int64_t tokens = 0;
  Status status = Status::kOk;
  std::string reason;  // empty when it is ok
  std::optional<double> median_s;
  std::optional<statistics::Interval> ci95;
  std::optional<double> bytes_per_s;
  std::optional<double> flops_per_s;
  std::optional<double> fraction_of_copy;
  std::optional<double> fraction_of_roof;
  std::optional<Against> fastest;   // of the built-in variants beside it
  std::optional<Against> baseline;  //
  std::optional<Against> last;      // try of the same file that was ok and is another program
  bool disturbed = false;           // by other programs while it was timed
  std::int64_t mismatches = 0;
  std::optional<double> max_error;  // of a product, relative to the root mean square of the truth
  std::optional<record::FirstWrong> first_wrong;
  std::optional<peer::KernelFacts> kernel;     // none: it is for the CPU, or see `kernels`
  std::vector<peer::KernelFacts> kernels{};    // of host code any of which it may launch
  std::optional<record::Counters> counters{};  // absent unless asked for
  std::string hint;                            // what to change; empty: nothing is known
};

// What a solution.json says of itself.
struct Solves {
  std::string name;
  std::string definition;  // the problem's name
};

// A try of a file: a line of tries.jsonl.
struct Attempt {
  std::string id;  // twelve digits
  std::string at;  // UTC, RFC 3339
  std::string file;
  std::string sha256;              // of the file
  std::optional<Solves> solves{};  // of a solution.json
  std::string version;
  std::string device;  // its name
  Status status = Status::kOk;
  std::string reason;  // empty when it is ok
  double compile_s = 0.0;
  std::vector<peer::Diagnostic> errors;  // the compiler's
  std::string program;                   // what was measured: a library, or a Python file
  std::string last;                      // id of the try that it is compared with; empty: none
  std::vector<TriedCell> cells;
  std::optional<Sanitized> sanitizer{};  // none: nobody asked
};

template <Is<Against> Other, class F>
void fields(Other& a, F&& f) {
  f("variant", a.variant);
  f("ratio", a.ratio);
  f("ci95", a.ci95);
}

template <Is<TriedCell> Cell, class F>
void fields(Cell& c, F&& f) {
  f("variant", c.variant, kOrNull);
  f("operation", c.operation, Field{.is_word = true});
  f("shape", c.shape);
  f("blocksize", c.blocksize);
  f("nested", c.nested);
  f("output_dtype", c.output_type);
  f("tokens", c.tokens, kOrNull);
  f("status", c.status);
  f("reason", c.reason, kOrNull);
  f("median_s", c.median_s);
  f("ci95", c.ci95);
  f("bytes_per_s", c.bytes_per_s);
  f("flops_per_s", c.flops_per_s);
  f("fraction_of_copy", c.fraction_of_copy);
  f("fraction_of_roof", c.fraction_of_roof);
  f("vs_fastest", c.fastest);
  f("vs_baseline", c.baseline);
  f("vs_last", c.last);
  f("disturbed", c.disturbed, kLater);
  f("mismatches", c.mismatches);
  f("max_error", c.max_error, kLater);
  f("first_wrong", c.first_wrong);
  f("kernel", c.kernel, kLater);
  f("kernels", c.kernels, kLater);
  f("counters", c.counters, Field{.or_none = true});
  f("hint", c.hint, Field{.later = true, .or_null = true});
}

template <Is<Solves> Solution, class F>
void fields(Solution& s, F&& f) {
  f("name", s.name, kOrNull);
  f("definition", s.definition, kOrNull);
}

template <Is<Attempt> Try, class F>
void fields(Try& t, F&& f) {
  f("schema", kSchema);
  f("schema_version", kSchemaVersion);
  f("id", t.id);
  f("at", t.at);
  f("file", t.file);
  f("sha256", t.sha256, kOrNull);
  f("solution", t.solves, kLater);
  f("version", t.version);
  f("device", t.device, kOrNull);
  f("status", t.status);
  f("reason", t.reason, kOrNull);
  f("compile_s", t.compile_s);
  f("errors", t.errors);
  f("library", t.program, kOrNull);
  f("last", t.last, kOrNull);
  f("cells", t.cells);
  f("sanitizer", t.sanitizer, kLater);
}

// On one line, without its end.
std::string to_json(const Attempt& attempt);

// Throws Error(kInput) that names `source`.
Attempt attempt_from_json(const std::string& line, const std::string& source);

}  // namespace nf4bench::trying

namespace nf4bench {

namespace peer {
template <Is<Diagnostic> Found, class F>
void fields(Found& d, F&& f) {
  f("file", d.file, kOrNull);
  f("line", d.line, kOrNull);
  f("column", d.column, kOrNull);
  f("message", d.message);
}
}  // namespace peer

}  // namespace nf4bench
