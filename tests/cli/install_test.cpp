#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace nf4bench::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// An installation of this build in a folder of its own.
class Installation : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_THAT(shell("'" NF4BENCH_CMAKE "' --install '" NF4BENCH_BINARY_DIR "' --prefix '" +
                      path("") + "'"),
                Ends(0));
  }

  std::string path(const std::string& name) const { return scratch_.path("usr/" + name); }

 private:
  ScratchFolder scratch_;
};

TEST_F(Installation, HoldsAllFilesInTheirStandardPlaces) {
  for (const char* file :
       {"bin/nf4bench", "include/nf4.h", "include/nf4bench_peer.h",
        "share/bash-completion/completions/nf4bench", "share/zsh/site-functions/_nf4bench",
        "share/fish/vendor_completions.d/nf4bench.fish", "share/man/man1/nf4bench.1",
        "share/doc/nf4bench/README.md", "share/doc/nf4bench/docs/usage.md"}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(path(file))) << file;
    EXPECT_GT(std::filesystem::file_size(path(file)), 0u) << file;
  }
}

TEST_F(Installation, ProgramRunsAndIsTheOneThatWasBuilt) {
  EXPECT_THAT(shell("cd / && '" + path("bin/nf4bench") + "' --version"),
              testing::AllOf(Ends(0), Prints(nf4bench({"--version"}).out)));
}

TEST_F(Installation, ProgramLooksForLibrariesNowhereOfItsOwn) {
  if (shell("command -v readelf").exit_code != 0) GTEST_SKIP() << "readelf is not installed";
  const Outcome outcome = shell("LC_ALL=C readelf -d '" + path("bin/nf4bench") + "'");
  ASSERT_THAT(outcome.out, HasSubstr("NEEDED"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("RPATH")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("RUNPATH")));
}

TEST_F(Installation, CompletionsAndManualAreThoseOfTheProgram) {
  EXPECT_EQ(read_file(path("share/bash-completion/completions/nf4bench")),
            nf4bench({"completion", "bash"}).out);
  EXPECT_EQ(read_file(path("share/zsh/site-functions/_nf4bench")),
            nf4bench({"completion", "zsh"}).out);
  EXPECT_EQ(read_file(path("share/fish/vendor_completions.d/nf4bench.fish")),
            nf4bench({"completion", "fish"}).out);
  EXPECT_EQ(read_file(path("share/man/man1/nf4bench.1")), nf4bench({"man"}).out);
}

TEST_F(Installation, HeaderForPeersStandsAlone) {
  EXPECT_THAT(shell("echo '#include <nf4bench_peer.h>' | cc -x c -std=c11 -Wall -Werror "
                    "-fsyntax-only -I '" +
                    path("include") + "' -"),
              Ends(0));
}

}  // namespace
}  // namespace nf4bench::test
