#include "error_of.hpp"
#include "record/samples.hpp"
#include "report/golden_file.hpp"
#include "report/report.hpp"
#include "report/sample_reports.hpp"
#include "report/tables.hpp"
#include "source_dir.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <random>

namespace nf4bench {
namespace {

using test::error_of;

using Json = nlohmann::ordered_json;

// What the reader says of `text`; empty when it accepts it.
std::string refusal(const std::string& text) {
  return error_of(ErrorKind::kInput, [&] { report::report_from_json(text, "r.json"); });
}

// What `node` of the schema refers to.
const Json& target(const Json& schema, const Json& node) {
  const Json& here = node.contains("anyOf") ? node.at("anyOf").at(0) : node;
  if (!here.contains("$ref")) return here;
  return schema.at(Json::json_pointer(here.at("$ref").get<std::string>().substr(1)));
}

Json without_later(const Json& value, const Json& schema, const Json& node) {
  Json left = value;
  const Json& here = target(schema, node);
  if (value.is_array() && here.contains("items")) {
    for (Json& each : left) each = without_later(each, schema, here.at("items"));
  }
  if (!value.is_object()) return left;
  for (const auto& [name, field] : here.at("properties").items()) {
    if (!value.contains(name)) continue;
    const Json& described = field.contains("description") ? field : target(schema, field);
    const std::string text = described.at("description");
    if (text.find("missing in older reports") != std::string::npos) {
      left.erase(name);
    } else {
      left[name] = without_later(value.at(name), schema, field);
    }
  }
  return left;
}

// `report` without the fields that docs/report.schema.json calls missing in older ones.
Json without_later(const Json& report) {
  std::ifstream file(NF4BENCH_SOURCE_DIR "/docs/report.schema.json");
  const Json schema = Json::parse(file);
  return without_later(report, schema, schema);
}

Json gpu_json() {
  return Json::parse(report::to_json(gpu_report()));
}

// The refusal of the GPU report with `value` at `pointer`.
std::string refusal_with(const std::string& pointer, const Json& value) {
  Json json = gpu_json();
  json[Json::json_pointer(pointer)] = value;
  return refusal(json.dump());
}

TEST(JsonReader, ReadsBackEveryBit) {
  for (const record::Report& report :
       {gpu_report(), cpu_report(), matmul_report(), record::Report()}) {
    const std::string text = report::to_json(report);
    EXPECT_EQ(report::to_json(report::report_from_json(text, "r.json")), text);
  }
}

TEST(JsonReader, TakesOperationsThatItDoesNotKnowIfTheyAreWords) {
  EXPECT_EQ(refusal_with("/measurements/0/operation", "matmul_2"), "");
  for (const char* bad : {"", "\x1b[31m", "two words", "Dequantize"}) {
    EXPECT_NE(refusal_with("/measurements/0/operation", bad).find("the name of an operation"),
              std::string::npos)
        << bad;
  }
}

// Independent of the writer: values of fields against those of the report that was written.
TEST(JsonReader, GivesFieldsTheValuesTheyHad) {
  const record::Report was = gpu_report();
  const record::Report is = report::report_from_json(report::to_json(was), "r.json");
  EXPECT_TRUE(is.complete);
  EXPECT_EQ(is.command, was.command);
  EXPECT_EQ(is.host.memory_bytes, 2151677952000);
  EXPECT_EQ(is.device.compute_capability, 90);
  EXPECT_EQ(is.device.kind, record::DeviceKind::kCuda);
  EXPECT_EQ(is.state_after->throttle_reasons, std::vector<std::string>{"sw_power_cap"});
  EXPECT_EQ(is.state_before.other_processes, 0);
  EXPECT_EQ(is.state_after->other_processes, 2);
  EXPECT_EQ(is.settings.seed, 18446744073709551615u);
  EXPECT_EQ(is.settings.caches, was.settings.caches);
  EXPECT_EQ(is.tensors[1].multiplicity, 128);
  EXPECT_EQ(is.tensors[0].geometry.shape, (std::vector<std::int64_t>{14336, 4096}));
  ASSERT_EQ(is.measurements.size(), was.measurements.size());
  EXPECT_EQ(is.measurements[0].samples_s, was.measurements[0].samples_s);
  EXPECT_EQ(is.measurements[0].throttled_samples, 0);
  EXPECT_EQ(is.measurements[3].throttled_samples, std::nullopt);
  EXPECT_EQ(is.measurements[0].alone->median_s, was.measurements[0].alone->median_s);
  EXPECT_EQ(is.measurements[0].alone->ci95->low, was.measurements[0].alone->ci95->low);
  EXPECT_FALSE(is.measurements[3].alone);
  EXPECT_EQ(is.settings.caches_rotated, was.settings.caches_rotated);
  EXPECT_EQ(is.measurements[0].time_s->ci95->high, was.measurements[0].time_s->ci95->high);
  EXPECT_FALSE(is.measurements[0].load);
  EXPECT_EQ(is.measurements[3].status, record::Status::kFailed);
  EXPECT_EQ(is.measurements[3].verification->first_mismatch, 77);
  EXPECT_EQ(is.measurements[3].reason, was.measurements[3].reason);
  EXPECT_EQ(is.stream_ceilings[1].shape, "vector16");
  ASSERT_EQ(is.variants.size(), 4U);
  EXPECT_EQ(is.variants[1].launches, 3);
  EXPECT_TRUE(is.variants[2].persistent);
  EXPECT_TRUE(is.variants[2].cache_hints);
  EXPECT_FALSE(is.variants[2].inline_ptx);
  EXPECT_TRUE(is.variants[3].inline_ptx);
  EXPECT_EQ(is.variants[2].name, "fused");
  EXPECT_EQ(is.variants[2].summary, "The idea of fused");
  EXPECT_EQ(is.variants[2].mirrors, "a published design");
  EXPECT_EQ(is.ceilings.event_overhead_s, 1.4e-6);
  EXPECT_EQ(is.tensors_verified, 192);
  EXPECT_EQ(is.warnings, was.warnings);
}

TEST(JsonReader, GivesTheTaskOfAJobBack) {
  record::Report was = gpu_report();
  EXPECT_FALSE(report::report_from_json(report::to_json(was), "r.json").shard);
  was.shard = {.index = 2, .count = 8, .split = true, .origin = "SLURM_PROCID"};
  const auto read = [&] { return report::report_from_json(report::to_json(was), "r.json").shard; };
  EXPECT_EQ(read()->index, 2);
  EXPECT_EQ(read()->count, 8);
  EXPECT_TRUE(read()->split);
  EXPECT_EQ(read()->origin, "SLURM_PROCID");
  was.shard->count = 0;
  EXPECT_EQ(read()->count, 0);
  was.shard->count = 2;
  EXPECT_NE(refusal(report::to_json(was)).find("less than count"), std::string::npos);
}

TEST(JsonReader, GivesTheLoadOfTheProcessorsBack) {
  record::Report was = cpu_report();
  was.measurements[1].load->disturbed = true;
  const record::Report is = report::report_from_json(report::to_json(was), "r.json");
  const record::HostLoad& load = is.measurements[1].load.value();
  EXPECT_EQ(load.processors, 2);
  EXPECT_EQ(load.others, 0.0625);
  EXPECT_EQ(load.stolen, 0.0078125);
  EXPECT_EQ(load.involuntary_switches, 17);
  EXPECT_TRUE(load.disturbed);
  EXPECT_FALSE(is.measurements[0].load->disturbed);
}

TEST(JsonReader, KnowsMediansWithoutAnInterval) {
  record::Report was = cpu_report();
  was.measurements[0].samples_s.resize(3);
  was.measurements[0].time_s = statistics::summarize(was.measurements[0].samples_s);
  was.measurements[0].speedup->ci95.reset();
  const record::Report is = report::report_from_json(report::to_json(was), "r.json");
  EXPECT_FALSE(is.measurements[0].time_s->ci95);
  EXPECT_FALSE(is.measurements[0].speedup->ci95);
  EXPECT_EQ(is.measurements[0].time_s->median, was.measurements[0].time_s->median);
}

TEST(JsonReader, IgnoresFieldsThatItDoesNotKnow) {
  Json json = gpu_json();
  json["extra"] = {{"deep", {1, 2, 3}}};
  json["measurements"][0]["energy_j"] = 0.5;
  json["schema_version"] = "1.9.3";
  EXPECT_EQ(refusal(json.dump()), "");
}

// Fields that the schema calls missing in older reports are what they were before there were any.
TEST(JsonReader, ReadsReportsOfBeforeLaterFieldsWereAdded) {
  const record::Report old = report::report_from_json(without_later(gpu_json()).dump(), "old.json");
  record::Report expected = gpu_report();
  expected.settings.together.reset();
  for (auto* state : {&expected.state_before, &*expected.state_after}) {
    state->other_processes.reset();
  }
  expected.peers.clear();
  expected.variants.clear();
  for (record::Measurement& row : expected.measurements) {
    row.throttled_samples.reset();
    row.alone.reset();
    row.energy.reset();
  }
  expected.idle_power_w.reset();
  EXPECT_EQ(old.settings.caches_rotated, 5);
  expected.settings.caches_rotated = 5;
  expected.settings.operations.clear();
  EXPECT_EQ(report::to_json(old), report::to_json(expected));
}

TEST(JsonReader, ReadsCountersAndTakesNullForWhatWasNotCounted) {
  record::Report counted = gpu_report();
  record::Counters& written = counted.measurements[0].counters.emplace();
  written.kernels = 2;
  written.dram_bytes_read = 17039360;
  written.shared_conflicts = 0;
  written.stalls = {{"mio_throttle", 4.5}, {"wait", 1.25}};
  written.launch = {.grid = 512, .occupancy_limit = record::Resource::kBlocks};
  written.limit = record::Limit::kShared;
  written.judgement = "conflicts in shared memory limit it";
  const std::string text = report::to_json(counted);
  const record::Report again = report::report_from_json(text, "r.json");
  const record::Counters& read = *again.measurements[0].counters;
  EXPECT_EQ(read.dram_bytes_read, 17039360);
  EXPECT_EQ(read.shared_conflicts, 0);
  EXPECT_FALSE(read.dram_bytes_written);
  EXPECT_EQ(read.stalls.at(1).reason, "wait");
  EXPECT_EQ(read.launch->grid, 512);
  EXPECT_FALSE(read.launch->occupancy);
  EXPECT_EQ(read.launch->occupancy_limit, record::Resource::kBlocks);
  EXPECT_EQ(read.limit, record::Limit::kShared);
  EXPECT_FALSE(again.measurements[1].counters);
  EXPECT_EQ(report::to_json(again), text);
}

TEST(JsonReader, RefusesOtherMajorVersionsByName) {
  const std::string message = refusal_with("/schema_version", "2.0.0");
  EXPECT_EQ(message,
            "r.json: schema_version: found \"2.0.0\", wanted 1.x: this program does not "
            "read reports of another major version");
  EXPECT_NE(refusal_with("/schema_version", "10.0.0"), "");
  EXPECT_NE(refusal_with("/schema_version", 1.0), "");
}

TEST(JsonReader, RefusesOtherKindsOfFile) {
  EXPECT_EQ(refusal_with("/schema", "nvbench"),
            "r.json: schema: found \"nvbench\", wanted \"nf4bench.report\"");
  EXPECT_EQ(refusal("{}"), "r.json: schema: is missing");
  EXPECT_EQ(refusal("[]"),
            "r.json: the file: found an array, wanted an object with the field \"schema\"");
}

TEST(JsonReader, NamesThePathOfAWrongType) {
  EXPECT_EQ(refusal_with("/measurements/2/time_s/median", "fast"),
            "r.json: measurements[2].time_s.median: found \"fast\", wanted a number from 0 up");
  EXPECT_EQ(refusal_with("/measurements/0/samples_s/3", nullptr),
            "r.json: measurements[0].samples_s[3]: found null, wanted a number from 0 up");
  EXPECT_EQ(
      refusal_with("/tensors/1/shape/0", -4),
      "r.json: tensors[1].shape[0]: found -4, wanted an integer from 0 to 9223372036854775807");
  EXPECT_EQ(refusal_with("/device/state_after/throttle_reasons", "none"),
            "r.json: device.state_after.throttle_reasons: found \"none\", wanted an array");
}

TEST(JsonReader, NamesTheWordsThatAFieldMayHold) {
  EXPECT_EQ(
      refusal_with("/measurements/0/status", "fine"),
      "r.json: measurements[0].status: found \"fine\", wanted one of passed, failed, skipped, "
      "invalid");
  EXPECT_EQ(refusal_with("/device/kind", "tpu"),
            "r.json: device.kind: found \"tpu\", wanted one of cpu, cuda");
}

TEST(JsonReader, ReadsWhatIsLeftOfSamples) {
  record::Report was = gpu_report();
  record::leave_out_samples(was.measurements[0]);
  const record::Report is = report::report_from_json(report::to_json(was), "r.json");
  const record::Measurement& row = is.measurements[0];
  EXPECT_TRUE(row.samples_s.empty());
  EXPECT_TRUE(row.sm_clock_hz.empty());
  ASSERT_TRUE(row.digest);
  EXPECT_EQ(row.digest->count, 7);
  EXPECT_GT(row.digest->log_error, 0.0);
  EXPECT_EQ(row.digest->log_error, was.measurements[0].digest->log_error);
  EXPECT_EQ(row.digest->mean_clock_hz, was.measurements[0].digest->mean_clock_hz);
  EXPECT_EQ(row.digest->median_clock_hz, was.measurements[0].digest->median_clock_hz);
  EXPECT_EQ(row.throttled_samples, 0);
  EXPECT_FALSE(is.measurements[1].digest);
  EXPECT_EQ(report::to_json(is), report::to_json(was));
}

TEST(JsonReader, RefusesADigestBesideSamples) {
  const nlohmann::json digest = {
      {"count", 7}, {"log_error", 0.01}, {"mean_clock_hz", nullptr}, {"median_clock_hz", nullptr}};
  EXPECT_EQ(refusal_with("/measurements/0/sample_digest", digest),
            "r.json: measurements[0].sample_digest: stands beside the samples that it replaces");
}

TEST(JsonReader, RefusesContradictions) {
  EXPECT_EQ(refusal_with("/measurements/0/tensor", "t9"),
            "r.json: measurements[0].tensor: names no tensor of this report");
  EXPECT_EQ(refusal_with("/tensors/1/id", "t0"),
            "r.json: tensors[1].id: is the id of an earlier tensor, too");
  EXPECT_EQ(refusal_with("/tensors/0/elements", 5),
            "r.json: tensors[0].elements: found 5, wanted the product of the shape");
  EXPECT_EQ(
      refusal_with("/measurements/0/sm_clock_hz", {1e9}),
      "r.json: measurements[0].sm_clock_hz: found 1 clocks, wanted none or 7, one for each of "
      "samples_s");
  EXPECT_EQ(refusal_with("/measurements/0/throttled_samples", 8),
            "r.json: measurements[0].throttled_samples: found 8, wanted at most as many as there "
            "are samples");
  EXPECT_EQ(refusal_with("/measurements/0/time_s/ci95", {2.0, 1.0}),
            "r.json: measurements[0].time_s.ci95: found an array, wanted two numbers, the lower "
            "first");
}

// Each number is sound, and not what the samples beside it say.
TEST(JsonReader, RefusesTimesThatContradictTheirSamples) {
  const record::Measurement row = gpu_report().measurements[0];
  const auto with = [](const char* field, double value) {
    return refusal_with(std::string("/measurements/0/time_s/") + field, value);
  };
  EXPECT_EQ(with("median", 1e-6),
            fmt::format("r.json: measurements[0].time_s.median: says 1e-06, but the samples beside "
                        "it make {}",
                        row.time_s->median));
  for (const char* field : {"mean", "min", "p05", "p95", "mad"}) {
    EXPECT_THAT(with(field, 1e-9), testing::HasSubstr("but the samples beside it make")) << field;
  }
  EXPECT_EQ(with("median", row.time_s->median * (1 + 1e-12)), "");
  EXPECT_NE(with("median", row.time_s->median * (1 + 1e-6)), "");
  const Json ends = {row.time_s->ci95->low, row.time_s->ci95->high * 1.01};
  EXPECT_THAT(refusal_with("/measurements/0/time_s/ci95", ends),
              testing::HasSubstr("time_s.ci95: says"));
  EXPECT_THAT(refusal_with("/measurements/0/time_s/ci95", nullptr),
              testing::HasSubstr("wanted two numbers, as there are enough samples"));
  record::Report few = gpu_report();
  few.measurements[0].samples_s.resize(2);
  few.measurements[0].sm_clock_hz.resize(2);
  EXPECT_THAT(refusal(report::to_json(few)),
              testing::HasSubstr("wanted null, as there are too few samples"));
}

TEST(JsonReader, RefusesShapesThatOverflow) {
  EXPECT_NE(refusal_with("/tensors/0/shape", {4294967296, 4294967296, 4}), "");
  EXPECT_NE(refusal_with("/tensors/0/shape", {4611686018427387904, 4, 0}), "");
}

TEST(JsonReader, RefusesShapesThatNoInputHas) {
  const std::vector<int> ones(33, 1);
  const std::string message = refusal_with("/tensors/0/shape", ones);
  EXPECT_NE(message.find("tensors[0].shape: found 33 extents, wanted at most 32"),
            std::string::npos)
      << message;
}

TEST(JsonReader, RefusesNumbersOutOfRange) {
  EXPECT_NE(refusal_with("/tensors/0/blocksize", 4294967360), "");
  EXPECT_NE(refusal_with("/settings/seed", -1), "");
  EXPECT_NE(refusal_with("/settings/min_samples", 1.5), "");
  EXPECT_NE(refusal_with("/host/memory_bytes", 18446744073709551615u), "");
}

TEST(JsonReader, TakesIntegersThatOtherToolsWroteAsDecimals) {
  EXPECT_EQ(refusal_with("/tensors/0/blocksize", 64.0), "");
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  EXPECT_EQ(refusal(""), "r.json: no valid JSON at byte 1");
  EXPECT_NE(refusal("{\"schema\": NaN}"), "");
  EXPECT_NE(refusal(report::to_json(gpu_report()) + "x"), "");
  EXPECT_NE(refusal("\xff\xfe"), "");
  EXPECT_EQ(refusal("[1e999]"), "r.json: a number that is too large at byte 6");
}

TEST(JsonReader, RefusesWhatOnlySomeParsersPassOver) {
  const std::string text = report::to_json(cpu_report());
  EXPECT_EQ(refusal("\xef\xbb\xbf" + text), "r.json: starts with a byte order mark, wanted none");
  EXPECT_EQ(refusal(text + std::string(1, '\0') + "{}"),
            "r.json: has a NUL character at byte " + std::to_string(text.size()) + ", wanted none");
}

TEST(JsonReader, RefusesDeepNesting) {
  EXPECT_EQ(refusal(std::string(1000000, '[')), "r.json: is nested deeper than 32 levels");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refusal(objects), "r.json: is nested deeper than 32 levels");
}

TEST(JsonReader, RefusesRepeatedFields) {
  EXPECT_EQ(refusal("{\"a\": 1, \"b\": 2, \"a\": 3}"), "r.json: has the field \"a\" twice");
}

TEST(JsonReader, KeepsControlCharactersOutOfItsMessages) {
  EXPECT_EQ(refusal_with("/schema", "\x1b[31m\n").find('\x1b'), std::string::npos);
  EXPECT_EQ(refusal("{\"\x1b\": 1, \"\x1b\": 2}").find('\x1b'), std::string::npos);
}

// Calls `visit` with the pointer of every value inside `json`.
void for_each_value(const Json& json, const std::string& pointer,
                    const std::function<void(const std::string&, const Json&)>& visit) {
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items()) {
    std::string inner = pointer;
    inner.append("/").append(key);
    visit(inner, value);
    for_each_value(value, inner, visit);
  }
}

// A small report with every field. Lists of one say that they are lists: {x} is x to some
// compilers.
Json small_json() {
  Json json = gpu_json();
  const Json rows = json["measurements"];
  json["measurements"] = {rows[0], rows[3]};
  json["tensors"] = Json::array({json["tensors"][0]});
  json["ceilings"]["stream"] = Json::array({json["ceilings"]["stream"][0]});
  json["summary"]["variants"] = Json::array();
  json["variants"] = Json::array({json["variants"][2]});
  return json;
}

bool is_array_element(const std::string& pointer) {
  const char last = pointer[pointer.rfind('/') + 1];
  return last >= '0' && last <= '9';
}

// What the reader computes itself.
bool is_computed(const std::string& pointer) {
  return pointer == "/summary/variants" || pointer == "/tool/name";
}

TEST(JsonReader, MissesEveryFieldThatIsNotThere) {
  const Json whole = without_later(small_json());
  int fields = 0;
  for_each_value(whole, "", [&](const std::string& pointer, const Json&) {
    if (is_array_element(pointer) || is_computed(pointer)) return;
    Json json = whole;
    const std::size_t slash = pointer.rfind('/');
    const std::string field = pointer.substr(slash + 1);
    json[Json::json_pointer(pointer.substr(0, slash))].erase(field);
    const std::string message = refusal(json.dump());
    EXPECT_NE(message.find(field), std::string::npos) << pointer << ": " << message;
    ++fields;
  });
  EXPECT_GT(fields, 100);
}

TEST(JsonReader, SurvivesEveryValueReplacedByEveryType) {
  const Json whole = small_json();
  const std::vector<Json> values = {nullptr,   true,  -1, 1e300, 18446744073709551615u,
                                    "",        "1.x", {}, {1},   Json::object(),
                                    {{"a", 1}}};
  int refused = 0;
  for_each_value(whole, "", [&](const std::string& pointer, const Json&) {
    for (const Json& value : values) {
      Json json = whole;
      json[Json::json_pointer(pointer)] = value;
      if (!refusal(json.dump()).empty()) ++refused;
    }
  });
  EXPECT_GT(refused, 1000);
}

// The writer and the table must take whatever the reader accepts.
TEST(JsonReader, SurvivesRandomDamage) {
  const std::string whole = small_json().dump();
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, 1 + random() % 40);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          text[at] = "0123456789-.e[]{}\",:"[random() % 20];
      }
      if (text.empty()) text.assign(1, ' ');
    }
    error_of(ErrorKind::kInput, [&] {
      const record::Report report = report::report_from_json(text, "r.json");
      report::to_json(report);
      report::to_table(report, {.width = 80});
    });
  }
}

TEST(JsonReader, SurvivesTruncationAnywhere) {
  const std::string whole = small_json().dump();
  for (std::size_t length = 0; length < whole.size(); length += 13) {
    EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
  }
}

}  // namespace
}  // namespace nf4bench
