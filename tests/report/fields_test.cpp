#include "json/fields.hpp"

#include "error_of.hpp"
#include "record/fields.hpp"
#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <set>

namespace nf4bench {
namespace {

using Json = nlohmann::json;
using test::error_of;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Json schema() {
  std::ifstream file(NF4BENCH_SOURCE_DIR "/docs/report.schema.json");
  return Json::parse(file);
}

// Holds a JSON schema to structs that name their fields, and lists what does not agree.
class SchemaWalk {
 public:
  explicit SchemaWalk(const Json& schema) : schema_(schema) {}

  const std::vector<std::string>& problems() const { return problems_; }

  template <class T>
  void value(const Json& node, const T& value, const std::string& path, Field field) {
    if constexpr (HasFields<const T>) {
      object(target(node), value, path);
      type(node, {"object"}, path, field);
    } else if constexpr (std::is_enum_v<T>) {
      std::set<Json> words;
      for (const T word : kWords<T>) words.insert(to_string(word));
      if (field.or_null) words.insert(nullptr);
      const Json& said = target(node).at("enum");
      expect(std::set<Json>(said.begin(), said.end()) == words, path, "has other words");
    } else if constexpr (std::is_same_v<T, bool>) {
      type(node, {"boolean"}, path, field);
    } else if constexpr (std::is_integral_v<T>) {
      type(node, {"integer"}, path, field);
    } else if constexpr (std::is_same_v<T, double>) {
      type(node, {"number", "integer"}, path, field);
    } else {
      type(node, {"string"}, path, field);
    }
  }

  template <class T>
  void value(const Json& node, const std::optional<T>& /*value*/, const std::string& path,
             Field field) {
    value(node, T(), path, Field{.or_null = !field.or_none});
  }

  void value(const Json& node, const std::optional<statistics::Interval>& /*value*/,
             const std::string& path, Field /*field*/) {
    type(node, {"array"}, path, kOrNull);
  }

  template <class T>
  void value(const Json& node, const std::vector<T>& /*value*/, const std::string& path,
             Field field) {
    type(node, {"array"}, path, field);
    value(target(node).at("items"), T(), path + "[]", {});
  }

  template <class T>
  void object(const Json& node, const T& object, const std::string& path) {
    std::set<std::string> left;
    for (const auto& [name, field] : node.at("properties").items()) left.insert(name);
    std::set<std::string> required = node.at("required").get<std::set<std::string>>();
    fields(object, [&](const char* name, const auto& member, Field field = {}) {
      const std::string inner = path.empty() ? name : path + '.' + name;
      if (left.erase(name) == 0) return expect(false, inner, "is missing in the schema");
      const Json& property = node.at("properties").at(name);
      const bool is_later = field.later || field.or_none;
      expect(is_later != (required.erase(name) == 1), inner, "is required, or is not");
      const Json& described = property.contains("description") ? property : target(property);
      const std::string text = described.at("description");
      expect(is_later == (text.find("missing in older reports") != std::string::npos), inner,
             "is missing in older reports, or is not");
      this->value(property, member, inner, field);
    });
    for (const std::string& name : left) expect(false, path + '.' + name, "is in the schema alone");
    expect(required.empty(), path, "requires what it does not have");
  }

 private:
  const Json& target(const Json& node) const {
    const Json& here = node.contains("anyOf") ? node.at("anyOf").at(0) : node;
    if (!here.contains("$ref")) return here;
    return schema_.at(Json::json_pointer(here.at("$ref").get<std::string>().substr(1)));
  }

  void type(const Json& node, const std::vector<std::string>& names, const std::string& path,
            Field field) {
    const Json& said = target(node).at("type");
    std::set<std::string> found;
    for (const Json& each : said.is_array() ? said : Json::array({said})) found.insert(each);
    const bool says_null = found.erase("null") == 1 || node.contains("anyOf");
    expect(says_null == field.or_null, path, "is null, or is not");
    expect(found.size() == 1 && std::ranges::count(names, *found.begin()) == 1, path,
           "has another type");
  }

  void expect(bool agrees, const std::string& path, const std::string& problem) {
    if (!agrees) problems_.push_back(path + ' ' + problem);
  }

  const Json& schema_;
  std::vector<std::string> problems_;
};

std::vector<std::string> problems_of(const Json& schema) {
  const record::Report report;
  const record::Summary summary;
  SchemaWalk walk(schema);
  walk.object(schema, record::DocumentOf<const record::Report>{report, summary}, "");
  return walk.problems();
}

TEST(Fields, AreThoseOfTheSchema) {
  EXPECT_THAT(problems_of(schema()), IsEmpty());
}

TEST(Fields, AreMissedInTheSchemaAndTheSchemasInThem) {
  Json changed = schema();
  Json& energy = changed["$defs"]["measurement"]["properties"]["energy"]["properties"];
  energy["calories"] = energy["joules"];
  EXPECT_THAT(problems_of(changed),
              Contains("measurements[].energy.calories is in the schema alone"));
  energy.erase("calories");
  energy.erase("joules");
  EXPECT_THAT(problems_of(changed),
              Contains("measurements[].energy.joules is missing in the schema"));
  changed = schema();
  changed["properties"]["host"]["properties"]["threads"]["type"] = {"string", "null"};
  EXPECT_THAT(problems_of(changed), Contains("host.threads is null, or is not"));
  EXPECT_THAT(problems_of(changed), Contains("host.threads has another type"));
}

// A struct of its own: the lines in fields() are all that a field takes.
enum class Side { kLeft, kRight };
constexpr auto words(Side /*any*/) {
  using enum Side;
  return std::to_array<Word<Side>>({{kLeft, "left"}, {kRight, "right"}});
}

struct Leg {
  double length_m = 0.0;
  std::optional<statistics::Interval> ci95;
};

template <Is<Leg> L, class F>
void fields(L& l, F&& f) {
  f("length_m", l.length_m);
  f("ci95", l.ci95);
}

struct Animal {
  std::string name;
  std::string nickname;
  Side side = Side::kLeft;
  std::int64_t age = 0;
  std::optional<double> weight_kg;
  std::optional<Leg> longest;
  std::vector<Leg> legs;
  std::vector<double> pulses_hz;
  int added_later = 7;
};

template <Is<Animal> A, class F>
void fields(A& a, F&& f) {
  f("name", a.name, Field{.is_word = true});
  f("nickname", a.nickname, kOrNull);
  f("side", a.side);
  f("age", a.age, kOrNull);
  f("weight_kg", a.weight_kg, Field{.low = 1.0});
  f("longest", a.longest, Field{.or_none = true});
  f("legs", a.legs);
  f("pulses_hz", a.pulses_hz);
  f("added_later", a.added_later, kLater);
}

struct OddLegs {
  void operator()(const json::JsonNode& node, const Animal& animal) const {
    if (animal.legs.size() % 2 != 0) node["legs"].refuse("an even number");
  }
};

Animal animal_of(const std::string& text) {
  const std::string source = "zoo.json";
  const json::JsonTree tree = json::parse_json(text, source);
  Animal animal;
  OddLegs check;
  json::FieldReader(check).read(json::JsonNode(tree, source), animal);
  return animal;
}

std::string text_of(const Animal& animal) {
  return json::FieldWriter().text(animal).text;
}

Animal dog() {
  return {"dog",     "", Side::kRight, 3, 12.5, Leg{0.5, {{0.25, 0.75}}}, {{1.0, {}}, {2.0, {}}},
          {1.5, 2.0}};
}

TEST(Fields, AreWrittenAndReadBack) {
  const std::string text = text_of(dog());
  EXPECT_THAT(text, HasSubstr("\"nickname\": null"));
  EXPECT_THAT(text, HasSubstr("\"longest\": {\"length_m\": 0.5, \"ci95\": [0.25, 0.75]}"));
  EXPECT_EQ(text_of(animal_of(text)), text);
  Animal cat;
  cat.name = "cat";
  EXPECT_THAT(text_of(animal_of(text_of(cat))), testing::Not(HasSubstr("longest")));
}

TEST(Fields, KeepWhatTheyHadInOlderFiles) {
  std::string text = text_of(dog());
  const std::size_t later = text.find("\"added_later\"");
  text.replace(text.rfind(',', later), text.rfind('}') - text.rfind(',', later), "");
  EXPECT_EQ(animal_of(text).added_later, 7);
}

TEST(Fields, AreRefusedByTheirPath) {
  const auto refusal = [](const std::string& from, const std::string& to) {
    std::string text = text_of(dog());
    text.replace(text.find(from), from.size(), to);
    return error_of(ErrorKind::kInput, [&] { animal_of(text); });
  };
  EXPECT_EQ(refusal("\"length_m\": 2", "\"length_m\": -2"),
            "zoo.json: legs[1].length_m: found -2, wanted a number from 0 up");
  EXPECT_EQ(refusal("12.5", "0.5"), "zoo.json: weight_kg: found 0.5, wanted a number from 1 up");
  EXPECT_EQ(refusal("right", "top"), "zoo.json: side: found \"top\", wanted one of left, right");
  EXPECT_THAT(refusal("dog", "a dog"), HasSubstr("zoo.json: name: found \"a dog\""));
  EXPECT_EQ(refusal("\"side\"", "\"site\""), "zoo.json: side: is missing");
  EXPECT_EQ(refusal("{\"length_m\": 1, \"ci95\": null}, ", ""),
            "zoo.json: legs: found an array, wanted an even number");
}

TEST(Fields, ThatAreNotFiniteAreLeftOutWithANote) {
  Animal animal = dog();
  animal.weight_kg = std::numeric_limits<double>::infinity();
  animal.longest->ci95->high = std::numeric_limits<double>::quiet_NaN();
  animal.legs[1].length_m = -std::numeric_limits<double>::infinity();
  animal.pulses_hz[1] = std::numeric_limits<double>::quiet_NaN();
  json::FieldWriter writer;
  const Json json = Json::parse(writer.text(animal).text);
  EXPECT_TRUE(json["weight_kg"].is_null());
  EXPECT_FALSE(json.contains("longest"));
  EXPECT_TRUE(json["legs"][1]["length_m"].is_null());
  EXPECT_EQ(json["legs"][0]["length_m"], 1.0);
  EXPECT_TRUE(json["pulses_hz"].empty());
  EXPECT_THAT(writer.notes(),
              testing::ElementsAre("weight_kg is not a finite number and was left out",
                                   "longest is not a finite number and was left out",
                                   "legs[1].length_m is not a finite number and was left out",
                                   "pulses_hz is not a finite number and was left out"));
}

}  // namespace
}  // namespace nf4bench
