#include "report/report.hpp"

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "text/layout.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <new>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace nf4bench::report {
NamedReport read_report(const std::string& path) {
  try {
    return {.name = path, .report = report_from_json(read_input(path, kMostReportBytes), path)};
  } catch (const std::bad_alloc&) {
    throw input_error(escaped(path), "needs more memory than there is");
  }
}

std::vector<NamedReport> read_reports(const std::vector<std::string>& paths) {
  std::vector<NamedReport> reports;
  reports.reserve(paths.size());
  for (const std::string& path : paths) reports.push_back(read_report(path));
  return reports;
}

std::string cell_words(const record::Cell& cell) {
  std::string words = cell.operation == record::kDequantize ? "" : cell.operation + ' ';
  words += to_string(cell.output_type);
  if (cell.tokens > 0) words += ' ' + text::format_count(cell.tokens, "token");
  return fmt::format("{} {} {}", words, to_string(cell.cache), to_string(cell.launch));
}

const char* short_name(nf4::OutputType type) {
  return type == nf4::OutputType::kFloat16    ? "fp16"
         : type == nf4::OutputType::kBfloat16 ? "bf16"
                                              : "fp32";
}

std::string operation_prefix(const record::Cell& cell) {
  return cell.operation == record::kDequantize ? "" : text::fitted(cell.operation, 30) + "  ";
}

std::string cell_name(const record::Cell& cell) {
  const std::string tokens =
      cell.tokens > 0 ? text::format_count(cell.tokens, "token") + "  " : std::string();
  return fmt::format("{}{}  {}{} {}", operation_prefix(cell), short_name(cell.output_type), tokens,
                     to_string(cell.cache), to_string(cell.launch));
}

std::string baselines_of(const record::Settings& settings) {
  if (settings.operations.size() < 2) return settings.baseline;
  std::vector<std::string> baselines;
  for (const record::MeasuredOperation& each : settings.operations) {
    baselines.push_back(each.name + ' ' + (each.baseline.empty() ? "none" : each.baseline));
  }
  return fmt::format("{}", fmt::join(baselines, ", "));
}

namespace {

// The path in a word such as "--peer=mine=../kernels/libmine.so".
std::string path_in(const std::string& word) {
  const std::size_t before = word.rfind('=', word.find('/'));
  return before == std::string::npos ? word : word.substr(before + 1);
}

std::string hashed(const std::string& serial) {
  constexpr std::size_t kDigits = 16;
  return "anonymous-" + sha256_of("nf4bench " + serial).substr(0, kDigits);
}

// Takes out of texts what names a machine.
class Eraser {
 public:
  explicit Eraser(const record::Report& report) : host_(report.host.name) {
    for (const std::string& word : report.command) {
      std::istringstream parts(word);  // --raw has several paths
      for (std::string part; std::getline(parts, part, ',');) add(path_in(part));
    }
    for (const record::ReportTensor& tensor : report.tensors) add(tensor.source);
    for (const record::PeerFile& peer : report.peers) add(peer.file);
    add(report.settings.activations_file);
    if (report.settings.experts) add(report.settings.experts->routing);
  }

  void erase(std::string& text) const {
    // The longest first, which may begin with others.
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
      replace_all(text, *folder, "");
    }
    static const std::regex absolute(R"((^|[\s"'=:,(])~?/([^/\s"'=:,]+/)*)");
    text = std::regex_replace(text, absolute, "$1");
    if (!host_.empty()) replace_all(text, host_, kHost);
  }

  static constexpr const char* kHost = "anonymous";

 private:
  struct ByLength {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
  };

  void add(const std::string& path) {
    const std::size_t length = path.rfind('/') + 1;  // 0 without a folder
    if (length > 1) folders_.insert(path.substr(0, length));
  }

  static void replace_all(std::string& text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size())) {
      text.replace(at, what.size(), with);
    }
  }

  std::string host_;
  std::set<std::string, ByLength> folders_;
};

}  // namespace

record::Report anonymous(record::Report report) {
  const Eraser eraser(report);
  for (std::string& word : report.command) eraser.erase(word);
  for (std::string& warning : report.warnings) eraser.erase(warning);
  for (record::Measurement& row : report.measurements) {
    eraser.erase(row.reason);
    if (row.counters) eraser.erase(row.counters->unavailable);
  }
  for (record::ReportTensor& tensor : report.tensors) eraser.erase(tensor.source);
  for (record::PeerFile& peer : report.peers) eraser.erase(peer.file);
  eraser.erase(report.settings.activations_file);
  if (report.settings.experts) eraser.erase(report.settings.experts->routing);
  report.host.name = Eraser::kHost;
  if (!report.device.uuid.empty()) report.device.uuid = hashed(report.device.uuid);
  report.device.pci_id.clear();
  return report;
}

}  // namespace nf4bench::report
