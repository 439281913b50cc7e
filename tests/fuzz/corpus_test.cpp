// Runs every target on every file of its corpus, so that what fuzzing found once is tested in every
// build.

#include "fuzz/targets.hpp"
#include "io/raw_files.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace nf4bench::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> corpus_of(std::string_view target) {
  const fs::path folder = fs::path(NF4BENCH_SOURCE_DIR) / "tests/fuzz/corpus" / target;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

void run_on(const Target& target, const std::string& file) {
  // An allocation of exactly this size, so that a sanitizer sees reads past its end.
  const std::vector<std::byte> bytes = testing::to_bytes(file);
  target.run(bytes);
}

class EveryTarget : public ::testing::TestWithParam<Target> {};

TEST_P(EveryTarget, TakesItsCorpus) {
  const std::vector<fs::path> files = corpus_of(GetParam().name);
  ASSERT_GE(files.size(), 5u);
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    run_on(GetParam(), testing::read_raw(file));
  }
}

TEST_P(EveryTarget, TakesItsCorpusCutShort) {
  for (const fs::path& file : corpus_of(GetParam().name)) {
    const std::string whole = testing::read_raw(file);
    for (const std::size_t part : {1u, 3u, 7u})
      run_on(GetParam(), whole.substr(0, whole.size() * part / 8));
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, EveryTarget, ::testing::ValuesIn(kTargets),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace nf4bench::fuzz
