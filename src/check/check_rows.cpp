#include "check/check.hpp"
#include "operation/operation.hpp"
#include "operation/weight.hpp"
#include "record/samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace nf4bench::check {
namespace {

using record::Measurement;
using record::Report;

// Numbers that are computed from the same doubles in another order.
constexpr double kRounding = 1e-9;

// So many samples that come in order, are equal, or are those of another row have a reason.
constexpr std::size_t kTellingSamples = 12;

bool is_close(double a, double b) {
  return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

bool is_close(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || is_close(*a, *b));
}

// What was built in once.
constexpr std::array kFormerVariants = {"mma_planes", "fused_cublas"};

// Looks at one row after the other.
class Rows {
 public:
  explicit Rows(const Report& report) : report_(report) {
    for (const record::ReportTensor& tensor : report.tensors) tensors_[tensor.id] = &tensor;
    for (const operation::BuiltIn& built_in : operation::built_in_catalogs()) {
      if (built_in.device != report.device.kind) continue;
      for (const kernels::Variant& variant : built_in.catalog.variants) known_.insert(variant.name);
    }
    if (!known_.empty()) known_.insert(kFormerVariants.begin(), kFormerVariants.end());
  }

  std::vector<Finding> look() {
    for (const Measurement& row : report_.measurements) look_at(row);
    look_at_speedups();
    std::vector<Finding> findings;
    for (auto& [code, found] : found_) {
      if (found.rows > 1) found.first.what += fmt::format(" ({} rows)", found.rows);
      findings.push_back(std::move(found.first));
    }
    return findings;
  }

 private:
  struct Found {
    Finding first;
    std::int64_t rows = 0;
  };

  // Of each code, the first row that shows it is told.
  void add(Code code, const Measurement& row, std::string what) {
    Found& found = found_[code];
    if (found.rows++ == 0) found.first = {code, where(row), std::move(what)};
  }

  std::string where(const Measurement& row) const {
    return fmt::format("{} {} {}", tensors_.at(row.cell.tensor)->name, report::cell_words(row.cell),
                       row.variant);
  }

  void look_at(const Measurement& row) {
    look_for_contradictions(row);
    look_at_variant(row);
    if (!row.time_s) return;
    look_at_proof(row);
    look_at_rates(row);
    look_at_traffic(row);
    look_at_clock(row);
    look_at_samples(row);
  }

  void look_for_contradictions(const Measurement& row) {
    const bool is_timed =
        row.status == record::Status::kPassed || row.status == record::Status::kInvalid;
    if (is_timed != row.time_s.has_value()) {
      add(Code::kContradiction, row,
          is_timed ? "passed, and has no time" : "was not timed, and has a time");
    }
    if ((row.status == record::Status::kPassed) != row.reason.empty()) {
      add(Code::kContradiction, row, "passed, and says why it did not; or the other way about");
    }
    if (row.cell.device != report_.device.id) {
      add(Code::kContradiction, row,
          fmt::format("is of device {}, the report of {}", row.cell.device, report_.device.id));
    }
    if (!seen_.insert({row.cell, row.variant}).second) {
      add(Code::kContradiction, row, "is there twice");
    }
  }

  // Built in, or a peer's: "NAME", or "NAME" and more behind a character that no name has. A build
  // without the device's kind does not know.
  void look_at_variant(const Measurement& row) {
    if (known_.empty() || known_.contains(row.variant)) return;
    for (const record::PeerFile& peer : report_.peers) {
      if (row.variant == peer.name || row.variant.starts_with(peer.name + '.') ||
          row.variant.starts_with(peer.name + '_')) {
        return;
      }
    }
    // Reports of before there was a list have what was typed.
    for (const std::string& word : report_.command) {
      const std::string_view name = std::string_view(word).substr(0, word.find('='));
      if (name.size() < word.size() && row.variant.starts_with(name)) return;
    }
    add(Code::kPeer, row, "is neither built in nor of a peer that the report names");
  }

  const operation::Operation* operation_of(const Measurement& row) const {
    for (const operation::Operation& each : operation::operations()) {
      if (each.name == row.cell.operation) return &each;
    }
    return nullptr;
  }

  // Whether its sizes can be those of a call, and multiplied with each other.
  bool has_possible_sizes(const Measurement& row) const {
    constexpr double kMost = 1e17;
    double size = std::max(1.0, static_cast<double>(row.cell.tokens));
    for (const std::int64_t each : tensors_.at(row.cell.tensor)->geometry.shape) {
      size *= static_cast<double>(each);
    }
    return size < kMost;
  }

  // The problem that the row timed; none of an operation of later, and where only the routing
  // tells.
  std::optional<kernels::Problem> problem_of(const Measurement& row) const {
    const operation::Operation* const operation = operation_of(row);
    if (operation == nullptr || operation->has_routing || !has_possible_sizes(row)) {
      return std::nullopt;
    }
    const record::Geometry& geometry = tensors_.at(row.cell.tensor)->geometry;
    record::RunOptions options;
    options.tokens = {row.cell.tokens};
    return operation
        ->problems(operation::problem_of(operation::WeightSize{.shape = geometry.shape,
                                                               .blocksize = geometry.blocksize,
                                                               .absmax_kind = geometry.absmax_kind},
                                         row.cell.output_type),
                   options)
        .front();
  }

  void look_at_proof(const Measurement& row) {
    if (!row.verification) {
      add(Code::kUnverified, row, "has a time, and no output of it was looked at");
      return;
    }
    const record::Verification& proof = *row.verification;
    if (!proof.passed()) {
      add(Code::kUnverified, row,
          fmt::format("has a time, and {} values of its output are wrong", proof.mismatches));
      return;
    }
    const auto problem = problem_of(row);
    if (!problem) return;
    const std::int64_t values = operation_of(row)->traffic(*problem).bytes_written /
                                static_cast<std::int64_t>(nf4::size_in_bytes(row.cell.output_type));
    const bool is_whole = report_.settings.verify == record::VerifyScope::kAll;
    if (proof.compared > values || proof.compared <= 0 || (is_whole && proof.compared < values)) {
      add(Code::kUnverified, row,
          fmt::format("{} values were compared, the output has {}", proof.compared, values));
    }
  }

  void look_at_rates(const Measurement& row) {
    Measurement derived = row;
    derived.bytes_per_s.reset();
    derived.flops_per_s.reset();
    derived.fraction_of_copy.reset();
    record::derive_rates(derived, report_.ceilings);
    const auto differ = [&](const char* name, const std::optional<double>& said,
                            const std::optional<double>& follows) {
      if (!said || is_close(said, follows)) return;  // fields of later are missing in older reports
      add(Code::kArithmetic, row,
          fmt::format("{} is {:.6g}, other fields make it {}", name, *said,
                      follows ? fmt::format("{:.6g}", *follows) : "unknown"));
    };
    differ("bytes_per_s", row.bytes_per_s, derived.bytes_per_s);
    differ("flops_per_s", row.flops_per_s, derived.flops_per_s);
    differ("fraction_of_copy", row.fraction_of_copy, derived.fraction_of_copy);
    if (row.roof && derived.roof) {
      differ("fraction_of_roof", row.roof->fraction, derived.roof->fraction);
    }
    const auto& peak = report_.device.peak_bytes_per_s;
    const double bytes_per_s = *derived.bytes_per_s;
    if (row.status == record::Status::kPassed && peak &&
        row.cell.cache == record::CacheMode::kCold &&
        report_.settings.caches_rotated >= record::kLargeRotation &&
        bytes_per_s > record::kPeakTolerance * *peak) {
      add(Code::kBeyondPeak, row,
          fmt::format("moves {:.0f} GB/s from cold caches, the memory {:.0f}", bytes_per_s / 1e9,
                      *peak / 1e9));
    }
  }

  // What a call has to read, write and compute.
  void look_at_traffic(const Measurement& row) {
    if (!has_possible_sizes(row)) {
      add(Code::kArithmetic, row, "has sizes that no call has");
      return;
    }
    const auto problem = problem_of(row);
    if (!problem || row.reference_line) return;  // such a row reads another weight
    const operation::Traffic traffic = operation_of(row)->traffic(*problem);
    if (row.bytes_read == traffic.bytes_read && row.bytes_written == traffic.bytes_written &&
        (row.flops == 0.0 || is_close(row.flops, traffic.flops))) {
      return;
    }
    add(Code::kArithmetic, row,
        fmt::format("{:.0f} bytes and {:.6g} operations a call, its sizes make {} and {:.6g}",
                    static_cast<double>(row.bytes_read) + static_cast<double>(row.bytes_written),
                    row.flops, traffic.bytes_read + traffic.bytes_written, traffic.flops));
  }

  // CUDA gives what lies between two events as milliseconds in float32, on Hopper in steps of 32
  // ns: a sample times its launches is such a number. Of spaced calls something is taken off.
  void look_at_clock(const Measurement& row) {
    if (report_.device.kind != record::DeviceKind::kCuda ||
        row.cell.launch == record::LaunchMode::kSpaced) {
      return;
    }
    constexpr double kHopperTick_s = 32e-9;
    for (const double sample : row.samples_s) {
      const double milliseconds = sample * row.launches_per_sample * 1e3;
      const double read = static_cast<double>(static_cast<float>(milliseconds));
      const double ticks = milliseconds * 1e-3 / kHopperTick_s;
      // Readings of a second and more have no digits left for ticks.
      const bool has_ticks = report_.device.compute_capability == 90 && milliseconds < 250.0;
      if (std::abs(read - milliseconds) > 1e-12 * milliseconds ||
          (has_ticks && std::abs(ticks - std::round(ticks)) > 0.25)) {
        add(Code::kClock, row,
            fmt::format("a sample of {} s over {} launches is no time between two CUDA events",
                        sample, row.launches_per_sample));
        return;
      }
    }
    const auto& most_hz = report_.state_before.max_sm_clock_hz;
    const auto fastest = std::ranges::max_element(row.sm_clock_hz);
    if (most_hz && fastest != row.sm_clock_hz.end() &&
        *fastest > record::kPeakTolerance * *most_hz) {
      add(Code::kClock, row,
          fmt::format("an SM clock of {:.0f} MHz, the most is {:.0f}", *fastest / 1e6,
                      *most_hz / 1e6));
    }
  }

  void look_at_samples(const Measurement& row) {
    const std::vector<double>& samples = row.samples_s;
    if (samples.size() < kTellingSamples) return;
    if (std::ranges::is_sorted(samples) || std::is_sorted(samples.rbegin(), samples.rend())) {
      add(Code::kSamples, row, "all samples are equal, or come in order");
    }
    // Scaled samples, too.
    std::vector<std::int64_t> shape;
    shape.reserve(samples.size());
    for (const double sample : samples) {
      shape.push_back(std::llround(sample / samples.front() / kRounding));
    }
    const auto [twin, is_new] = shapes_.try_emplace(std::move(shape), &row);
    if (!is_new) add(Code::kSamples, row, "has the samples of " + where(*twin->second));
  }

  void look_at_speedups() {
    std::map<record::Cell, std::vector<Measurement>> cells;
    for (const Measurement& row : report_.measurements) {
      const bool is_left_out = row.time_s && row.samples_s.empty();
      if (!is_left_out) cells[row.cell].push_back(row);
    }
    for (auto& [cell, rows] : cells) {
      std::vector<Measurement> derived = rows;
      for (Measurement& row : derived) row.speedup.reset();
      record::derive_speedups(record::baseline_of(report_.settings, cell.operation), derived);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& said = rows[i].speedup;
        const auto& follows = derived[i].speedup;
        if (!said || (follows && said->baseline == follows->baseline &&
                      is_close(said->ratio, follows->ratio))) {
          continue;
        }
        add(Code::kArithmetic, rows[i],
            fmt::format("says a speedup of {:.6g} over {}, the samples make {}", said->ratio,
                        said->baseline, follows ? fmt::format("{:.6g}", follows->ratio) : "none"));
      }
    }
  }

  const Report& report_;
  std::map<std::string, const record::ReportTensor*> tensors_;
  std::set<std::string> known_;
  std::set<std::pair<record::Cell, std::string>> seen_;
  std::map<std::vector<std::int64_t>, const Measurement*> shapes_;
  std::map<Code, Found> found_;
};

}  // namespace

std::vector<Finding> check_rows(const Report& report) {
  return Rows(report).look();
}

}  // namespace nf4bench::check
