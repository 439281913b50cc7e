#include "base/atomic_file.hpp"
#include "error_of.hpp"
#include "fleet/fleet.hpp"
#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <unistd.h>

namespace nf4bench {
namespace {

using nlohmann::json;
using test::error_of;
using testing::HasSubstr;

fleet::Fleet small_fleet() {
  fleet::Group group;
  group.facts = {{"device", "NVIDIA H200"}, {"driver", "580.159.04"}};
  group.cells = {{.name = "a", .bound = fleet::Bound::kMemory}, {.name = "b"}};
  fleet::Unit unit;
  unit.id = "GPU-1";
  unit.host = "node1";
  unit.report = "1.json";
  unit.started_at = "2026-03-01T00:00:00Z";
  unit.complete = true;
  unit.failed = 2;
  unit.temperature_c = -4.5;
  unit.power_limit_w = 700.0;
  unit.throttled = 0.25;
  unit.throttle_reasons = {"sw_power_cap"};
  unit.other_processes = 2;
  unit.values = {{1e-5, 0.0012344, 1.98e9}, {}};
  group.units = {unit};
  return {.groups = {group},
          .refused = {{"2.json", "driver"}},
          .replaced = {{"3.json", "newer"}},
          .unread = {{"4.json", "no report"}},
          .missing = {"node9"}};
}

std::string text_of(const fleet::Fleet& fleet) {
  std::string text;
  fleet::write_fleet(fleet, [&](std::string_view piece) { text += piece; });
  return text;
}

class FleetFile : public test::FolderTest {
 protected:
  fleet::Fleet read(const std::string& text) const {
    write_file(path_, text);
    return fleet::read_fleet(path_);
  }

  // What the reader says of the small fleet after `change`.
  std::string refusal(const std::function<void(json&)>& change) const {
    json document = json::parse(text_of(small_fleet()));
    change(document);
    return error_of(ErrorKind::kInput, [&] { read(document.dump()); });
  }

  std::string path_ = folder_ / "fleet.json";
};

TEST_F(FleetFile, ReadsWhatItWrote) {
  const std::string text = text_of(small_fleet());
  const fleet::Fleet fleet = read(text);
  EXPECT_EQ(text_of(fleet), text);
  const fleet::Unit& unit = fleet.groups[0].units[0];
  EXPECT_EQ(unit.temperature_c, -4.5);
  EXPECT_FALSE(unit.power_w);
  EXPECT_EQ(unit.other_processes, 2);
  EXPECT_EQ(unit.values[0].time_s, 1e-5);
  EXPECT_NEAR(unit.values[0].log_error, 0.001234, 1e-9);
  EXPECT_FALSE(unit.values[1].is_measured());
  EXPECT_EQ(fleet.groups[0].cells[0].bound, fleet::Bound::kMemory);
  EXPECT_EQ(fleet.missing, std::vector<std::string>{"node9"});
}

TEST_F(FleetFile, ReadsFilesOfBeforeOtherProcessesWereCounted) {
  json document = json::parse(text_of(small_fleet()));
  document["groups"][0]["units"][0].erase("other_processes");
  EXPECT_FALSE(read(document.dump()).groups[0].units[0].other_processes);
}

TEST_F(FleetFile, IsKnownByItsBeginning) {
  EXPECT_TRUE(fleet::begins_as_fleet(text_of(small_fleet()).substr(0, 64)));
  EXPECT_FALSE(fleet::begins_as_fleet("{\n  \"schema\": \"nf4bench.report\","));
}

TEST_F(FleetFile, RefusesOtherFiles) {
  EXPECT_THAT(refusal([](json& d) { d["schema"] = "nf4bench.report"; }),
              HasSubstr("as \"nf4bench merge\" writes it"));
  EXPECT_THAT(refusal([](json& d) { d["schema_version"] = "2.0.0"; }), HasSubstr("wanted 1.x"));
  EXPECT_THAT(refusal([](json& d) { d.erase("missing"); }), HasSubstr("missing: is missing"));
  EXPECT_THAT(refusal([](json& d) { d["groups"][0]["kind"] = "tpu"; }),
              HasSubstr("one of cpu, cuda"));
}

TEST_F(FleetFile, RefusesContradictions) {
  EXPECT_THAT(refusal([](json& d) { d["groups"][0]["units"][0]["time_s"].push_back(1.0); }),
              HasSubstr("groups[0].units[0].time_s: found 3 numbers, wanted 2, one for each cell"));
  EXPECT_THAT(refusal([](json& d) { d["groups"][0]["cells"][1]["name"] = "a"; }),
              HasSubstr("groups[0].cells[1].name: is the name of an earlier cell"));
  EXPECT_THAT(refusal([](json& d) { d["groups"][0]["units"][0]["clock_hz"][0] = -1; }),
              HasSubstr("clock_hz[0]"));
}

}  // namespace
}  // namespace nf4bench
