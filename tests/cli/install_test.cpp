#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace nf4bench::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// One test, because ctest gives each a process of its own, and to install takes longer than to
// look.
TEST(Installation, HasTheProgramItsPagesAndHeadersInTheirStandardPlaces) {
  const ScratchFolder scratch;
  const auto path = [&](const std::string& name) { return scratch.path("usr/" + name); };
  ASSERT_THAT(
      shell("'" NF4BENCH_CMAKE "' --install '" NF4BENCH_BINARY_DIR "' --prefix '" + path("") + "'"),
      Ends(0));
  for (const char* file :
       {"include/nf4.h", "share/doc/nf4bench/README.md", "share/doc/nf4bench/docs/usage.md"}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(path(file))) << file;
    EXPECT_GT(std::filesystem::file_size(path(file)), 0u) << file;
  }
  EXPECT_THAT(shell("cd / && '" + path("bin/nf4bench") + "' --version"),
              AllOf(Ends(0), Prints(nf4bench({"--version"}).out)));
  if (shell("command -v readelf").exit_code == 0) {
    // It looks for libraries nowhere of its own.
    EXPECT_THAT(shell("LC_ALL=C readelf -d '" + path("bin/nf4bench") + "'").out,
                AllOf(HasSubstr("NEEDED"), Not(HasSubstr("RPATH")), Not(HasSubstr("RUNPATH"))));
  }
  EXPECT_EQ(read_file(path("share/bash-completion/completions/nf4bench")),
            nf4bench({"completion", "bash"}).out);
  EXPECT_EQ(read_file(path("share/zsh/site-functions/_nf4bench")),
            nf4bench({"completion", "zsh"}).out);
  EXPECT_EQ(read_file(path("share/fish/vendor_completions.d/nf4bench.fish")),
            nf4bench({"completion", "fish"}).out);
  EXPECT_EQ(read_file(path("share/man/man1/nf4bench.1")), nf4bench({"man"}).out);
  // The header for peers stands alone.
  EXPECT_THAT(shell("echo '#include <nf4bench_peer.h>' | cc -x c -std=c11 -Wall -Werror "
                    "-fsyntax-only -I '" +
                    path("include") + "' -"),
              Ends(0));
}

}  // namespace
}  // namespace nf4bench::test
