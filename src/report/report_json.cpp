#include "base/checked.hpp"
#include "json/fields.hpp"
#include "record/fields.hpp"
#include "record/samples.hpp"
#include "report/ranking.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace nf4bench::report {
namespace {

// Reports of before there was a choice do not say it.
constexpr int kCachesRotatedAtFirst = 5;

void check_schema(const json::JsonNode& root) {
  const json::JsonNode schema = root["schema"];
  if (schema.string() != record::kReportSchema)
    schema.refuse(fmt::format("\"{}\"", record::kReportSchema));
  const json::JsonNode version = root["schema_version"];
  if (!version.string().starts_with("1.")) {
    version.refuse("1.x: this program does not read reports of another major version");
  }
}

struct NamedNumber {
  std::string name;
  double value = 0.0;
};

// The numbers in `time`, in the order of its fields.
std::vector<NamedNumber> numbers_of(const statistics::Summary& time) {
  std::vector<NamedNumber> numbers;
  fields(time, [&]<class Member>(const char* name, const Member& member, Field = {}) {
    if constexpr (std::is_same_v<Member, double>) {
      numbers.push_back({name, member});
    } else if (member) {
      numbers.push_back({name, member->low});
      numbers.push_back({name, member->high});
    }
  });
  return numbers;
}

// Nobody has to believe a median that stands beside its samples.
void check_time(const json::JsonNode& node, const statistics::Summary& time,
                const std::vector<double>& samples) {
  const std::vector<NamedNumber> said = numbers_of(time);
  const std::vector<NamedNumber> found = numbers_of(statistics::summarize(samples));
  if (said.size() != found.size()) {
    node["ci95"].refuse(said.size() > found.size() ? "null, as there are too few samples"
                                                   : "two numbers, as there are enough samples");
  }
  constexpr double kRounding = 1e-9;  // of another order of summation
  for (std::size_t i = 0; i < said.size(); ++i) {
    const double most = std::max(std::abs(found[i].value), time.median) * kRounding;
    if (std::abs(said[i].value - found[i].value) <= most) continue;
    node[said[i].name].fail(
        fmt::format("says {}, but the samples beside it make {}", said[i].value, found[i].value));
  }
}

// Refuses what contradicts itself, though each field is sound.
class Consistency {
 public:
  void operator()(const json::JsonNode& node, const record::Shard& shard) const {
    if (shard.count > 0 && shard.index >= shard.count) node["index"].refuse("less than count");
  }

  void operator()(const json::JsonNode& node, const record::ReportTensor& tensor) {
    if (!tensors_.insert(tensor.id).second) node["id"].fail("is the id of an earlier tensor, too");
    check_shape(node, tensor.geometry.shape);
  }

  void operator()(const json::JsonNode& node, const record::Measurement& m) const {
    check_tensor(node);
    check_tokens(node);
    if (!m.roof && node.has("fraction_of_roof") && !node["fraction_of_roof"].is_null()) {
      node["roof_limit"].refuse("memory or compute");
    }
    check_samples(node, m);
  }

  void operator()(const json::JsonNode& node, record::StreamCeiling& stream) const {
    check_tensor(node);
    check_tokens(node);
    if (stream.cell.operation.empty()) stream.cell.operation = record::kDequantize;
  }

 private:
  void check_tensor(const json::JsonNode& node) const {
    const json::JsonNode tensor = node["tensor"];
    if (!tensors_.contains(tensor.string())) tensor.fail("names no tensor of this report");
  }

  static void check_tokens(const json::JsonNode& node) {
    if (!node.has("tokens") || node["tokens"].is_null()) return;
    if (node["tokens"].count() == 0) node["tokens"].refuse("a positive number, or null");
  }

  static void check_shape(const json::JsonNode& node, const std::vector<std::int64_t>& shape) {
    constexpr std::size_t kMostExtents = 32;  // what a tensor of an input may have
    if (shape.size() > kMostExtents) {
      node["shape"].fail(
          fmt::format("found {} extents, wanted at most {}", shape.size(), kMostExtents));
    }
    std::optional<std::uint64_t> elements = 1;
    for (const std::int64_t extent : shape) {
      if (elements) elements = checked_multiply(*elements, static_cast<std::uint64_t>(extent));
    }
    if (elements != static_cast<std::uint64_t>(node["elements"].count())) {
      node["elements"].refuse("the product of the shape");
    }
  }

  static void check_samples(const json::JsonNode& node, const record::Measurement& m) {
    if (!m.sm_clock_hz.empty() && m.sm_clock_hz.size() != m.samples_s.size()) {
      node["sm_clock_hz"].fail(
          fmt::format("found {} clocks, wanted none or {}, one for each of samples_s",
                      m.sm_clock_hz.size(), m.samples_s.size()));
    }
    if (m.digest && !m.samples_s.empty()) {
      node["sample_digest"].fail("stands beside the samples that it replaces");
    }
    if (m.time_s && !m.samples_s.empty()) check_time(node["time_s"], *m.time_s, m.samples_s);
    if (m.throttled_samples > record::sample_count(m)) {
      node["throttled_samples"].refuse("at most as many as there are samples");
    }
  }

  std::set<std::string> tensors_;
};

using Written = record::DocumentOf<const record::Report>;

}  // namespace

std::string to_json(const record::Report& report) {
  const record::Summary summary = {summarize_variants(report), find_crossovers(report)};
  json::FieldWriter writer;
  std::string text = writer.text(Written{report, summary}).text;
  if (!writer.notes().empty()) {
    record::Report noted = report;
    noted.warnings.insert(noted.warnings.end(), writer.notes().begin(), writer.notes().end());
    text = json::FieldWriter().text(Written{noted, summary}).text;
  }
  return text + "\n";
}

record::Report report_from_json(std::string text, const std::string& source) {
  const json::JsonTree tree = json::parse_json(text, source);
  std::string().swap(text);  // the tree has it all; the report comes in its place
  const json::JsonNode root(tree, source);
  check_schema(root);
  record::Report report;
  report.settings.caches_rotated = kCachesRotatedAtFirst;
  report.settings.together.reset();
  const record::Summary computed;
  record::DocumentOf<record::Report> document = {report, computed};
  Consistency check;
  json::FieldReader(check).read(root, document);
  for (record::StreamCeiling& stream : report.stream_ceilings)
    stream.cell.device = report.device.id;
  return report;
}

}  // namespace nf4bench::report
