#include "peer/solution_file.hpp"

#include "base/atomic_file.hpp"
#include "base/input_file.hpp"
#include "base/sha256.hpp"
#include "json/json_tree.hpp"
#include "peer/compile_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace nf4bench::peer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostSolutionBytes = std::uint64_t{64} << 20;
constexpr std::size_t kDigitsOfName = 16;

// A name within a folder: strangers wrote it.
fs::path safe_path(const json::JsonNode& node) {
  fs::path path = fs::path(node.string()).lexically_normal();
  const bool leads_out =
      std::ranges::any_of(path, [](const fs::path& part) { return part == ".."; });
  const bool is_folder = !path.has_filename() || path == ".";
  if (is_folder || path.is_absolute() || leads_out) {
    node.refuse("the path of a file within the solution");
  }
  return path;
}

}  // namespace

bool is_solution_file(const std::string& path) {
  return path.ends_with(".json");
}

Solution unpacked_solution(const std::string& path) {
  const std::string text = read_input(path, kMostSolutionBytes);
  const json::JsonTree tree = json::parse_json(text, path);
  const json::JsonNode root(tree, path);
  const json::JsonNode entry = root["spec"]["entry_point"];
  const std::string file = entry.string().substr(0, entry.string().find("::"));
  const fs::path folder =
      CompileCache().folder() / ("solution-" + sha256_of(text).substr(0, kDigitsOfName));
  bool has_entry = false;
  root["sources"].each([&](const json::JsonNode& source) {
    const fs::path name = safe_path(source["path"]);
    has_entry = has_entry || name == fs::path(file).lexically_normal();
    const fs::path target = folder / name;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    write_file(target, source["content"].string());
  });
  if (!has_entry) entry.refuse("one of the files in sources, as \"kernel.cu::run\"");
  const auto text_of = [&root](const char* name) {
    return root.has(name) ? root[name].string_or_empty() : "";
  };
  return {.file = (folder / file).lexically_normal().string(),
          .name = text_of("name"),
          .definition = text_of("definition")};
}

}  // namespace nf4bench::peer
