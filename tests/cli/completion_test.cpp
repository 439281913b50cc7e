#include "cli/outcome.hpp"
#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

bool is_installed(const std::string& program) {
  return shell("command -v " + program).exit_code == 0;
}

// A test of a program that is not installed is skipped, and says so.
#define NEEDS(program) \
  if (!is_installed(program)) GTEST_SKIP() << (program) << " is not installed"

// The scripts ask the program that stands on the command line.
const std::string kPath = "PATH=$(dirname \"$NF4BENCH\"):$PATH; ";

class Completion : public testing::Test {
 protected:
  // The script for a shell, in a file of the name that the shell wants.
  std::string script(const std::string& name) const {
    const std::string file = name == "zsh" ? "_nf4bench" : "nf4bench." + name;
    const Outcome outcome = nf4bench({"completion", name});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::ofstream(scratch_.path(file)) << outcome.out;
    return scratch_.path(file);
  }

  // What bash completes the last of `words` to; words are split as bash does, at "=", too.
  std::vector<std::string> bash(const std::vector<std::string>& words) const {
    std::string quoted = "nf4bench";
    for (const std::string& word : words) quoted += " '" + word + "'";
    const Outcome outcome = shell(kPath +
                                  "cd '" NF4BENCH_SOURCE_DIR
                                  "' && exec bash --norc --noprofile -c 'source \"$0\"; "
                                  "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _nf4bench; "
                                  "printf \"%s\\n\" \"${COMPREPLY[@]}\"' '" +
                                  script("bash") + "' " + quoted);
    EXPECT_THAT(outcome.err, IsEmpty());
    std::vector<std::string> found = lines_of(outcome.out);
    std::erase(found, "");
    return found;
  }

  // What fish completes a line to, descriptions left out.
  std::vector<std::string> fish(const std::string& line) const {
    const Outcome outcome =
        shell(kPath + "cd '" NF4BENCH_SOURCE_DIR "' && HOME='" + scratch_.path("") +
              "' fish --no-config -c 'source $argv[1]; complete -C $argv[2]' '" + script("fish") +
              "' '" + line + "'");
    EXPECT_THAT(outcome.err, IsEmpty());
    std::vector<std::string> found = lines_of(outcome.out);
    for (std::string& each : found) each = each.substr(0, each.find('\t'));
    return found;
  }

  // The screen of a zsh in which a line was typed and the tabulator pressed twice.
  std::string zsh(const std::string& line) const {
    script("zsh");
    std::ofstream(scratch_.path("drive.zsh")) << R"(
zmodload zsh/zpty || exit 1
until_seen() {
  local text chunk i
  for ((i = 0; i < 400; i++)); do
    if zpty -r -t shell chunk; then text+=$chunk; else sleep 0.05; fi
    [[ $text == *$1* ]] && { print -r -- $text; return 0 }
  done
  print -r -- $text
  return 1
}
cd $3
TERM=dumb zpty shell zsh -f -i
zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; PS1=; unsetopt zle_bracketed_paste; LISTMAX=0; print rea''dy"
until_seen ready > /dev/null || exit 1
zpty -w -n shell $2$'\t\t'
sleep 0.3
# Ctrl-A and a comment sign, so that the line is printed and not run.
zpty -w shell $'\x01: '
zpty -w shell "print do''ne"
until_seen done
)";
    const Outcome outcome = shell(kPath + "zsh -f '" + scratch_.path("drive.zsh") + "' '" +
                                  scratch_.path("") + "' '" + line + "' '" NF4BENCH_SOURCE_DIR "'");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    return outcome.out;
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(Completion, ShellsFindNoMistakeInTheirScripts) {
  for (const std::string name : {"bash", "zsh", "fish"}) {
    if (!is_installed(name)) continue;  // its own test below says so
    EXPECT_THAT(shell(name + " -n '" + script(name) + "'"), Ends(0, IsEmpty())) << name << ": ";
  }
}

TEST_F(Completion, BashCompletesCommandsOptionsValuesAndFiles) {
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases = {
      {{"de"}, {"dequantize"}},
      {{"--v"}, {"--version"}},
      {{"run", "--dt"}, {"--dtype"}},
      {{"run", "--max-time", "1", "--min"}, {"--min-samples"}},
      {{"compare", "--ga"}, {"--gate"}},
      {{"list", "--ga"}, {}},
      {{"run", "--dtype", "fl"}, {"float16", "float32"}},
      {{"run", "--device", ""}, {"auto", "cpu", "cuda", "all"}},
      {{"run", "--preset", "llama-3.1-8"}, {"llama-3.1-8b"}},
      {{"run", "--variant", "simd"}, {"simd"}},
      {{"export", "--to", "c"}, {"csv"}},
      {{"compare", "--metric", "s"}, {"speedup"}},
      {{"list", ""}, {"variants", "devices", "presets", "cards"}},
      {{"list", "presets", "llama-3.1-8"}, {"llama-3.1-8b"}},
      // Behind an equals sign, and of a list the last item.
      {{"run", "--cache", "=", "co"}, {"cold"}},
      {{"run", "--cache", "="}, {"cold", "hot"}},
      {{"run", "--dtype", "float16,bf"}, {"float16,bfloat16"}},
      {{"run", "data/llama_l"}, {"data/llama_layer.safetensors"}},
      {{"run", "--json", "READ"}, {"README.md"}},
      {{"--config", "READ"}, {"README.md"}},
      {{"run", "--seed", "READ"}, {}},
      // The word behind --config is no command.
      {{"--config", "list", "run", "--dt"}, {"--dtype"}},
      {{"--config", "=", "list", "run", "--dt"}, {"--dtype"}}};
  for (const auto& [words, expected] : cases) {
    EXPECT_EQ(bash(words), expected) << testing::PrintToString(words);
  }
  EXPECT_THAT(bash({""}), IsSupersetOf({"run", "list", "compare", "export", "completion", "man"}));
}

TEST_F(Completion, FishCompletesCommandsOptionsValuesAndFiles) {
  NEEDS("fish");
  EXPECT_THAT(fish("nf4bench de"), ElementsAre("dequantize"));
  EXPECT_THAT(fish("nf4bench run --dt"), ElementsAre("--dtype"));
  EXPECT_THAT(fish("nf4bench run --device c"), ElementsAre("cpu", "cuda"));
  EXPECT_THAT(fish("nf4bench run --dtype float16,bf"), ElementsAre("float16,bfloat16"));
  EXPECT_THAT(fish("nf4bench run --preset=llama-3.1-8"), ElementsAre("--preset=llama-3.1-8b"));
  EXPECT_THAT(fish("nf4bench run data/llama_l"), ElementsAre("data/llama_layer.safetensors"));
  EXPECT_THAT(fish("nf4bench list p"), ElementsAre("presets"));
  EXPECT_THAT(fish("nf4bench list presets llama-3.1-8"), ElementsAre("llama-3.1-8b"));
  EXPECT_THAT(fish("nf4bench run --seed READ"), IsEmpty());
}

TEST_F(Completion, ZshCompletesCommandsOptionsValuesAndFiles) {
  NEEDS("zsh");
  const std::string no_terminal = why_no_terminal();  // zsh completes only on one
  if (!no_terminal.empty()) GTEST_SKIP() << no_terminal;
  EXPECT_THAT(zsh("nf4bench deq"), HasSubstr("nf4bench dequantize "));
  EXPECT_THAT(zsh("nf4bench run --dt"), HasSubstr("nf4bench run --dtype"));
  EXPECT_THAT(zsh("nf4bench run --variant=sim"), HasSubstr("--variant=simd"));
  EXPECT_THAT(zsh("nf4bench run --dtype=float16,bf"), HasSubstr("--dtype=float16,bfloat16"));
  EXPECT_THAT(zsh("nf4bench run --device "), AllOf(HasSubstr("auto"), HasSubstr("cuda")));
  EXPECT_THAT(zsh("nf4bench run data/llama_l"), HasSubstr("data/llama_layer.safetensors"));
  EXPECT_THAT(zsh("nf4bench list pre"), HasSubstr("nf4bench list presets"));
  EXPECT_THAT(zsh("nf4bench list presets llama-3.1-8"), HasSubstr("llama-3.1-8b"));
}

TEST_F(Completion, EveryOptionOfEveryHelpIsOffered) {
  for (const std::string command :
       {"run", "list", "inspect", "synth", "dequantize", "compare", "history", "merge", "fleet",
        "check", "site", "export", "doctor"}) {
    const Outcome help =
        shell("\"$NF4BENCH\" " + command + (command == "run" ? " --help-all" : " --help") +
              " | grep -o '^  [^ ]*--[a-z-]*' | grep -o '[a-z-]*$'");
    const std::vector<std::string> names = lines_of(help.out);
    EXPECT_GT(names.size(), 2u) << command;
    EXPECT_THAT(lines_of(nf4bench({"completion", "bash", "--", command, "--"}).out),
                IsSupersetOf(names));
  }
}

TEST_F(Completion, UnknownShellIsRefused) {
  EXPECT_THAT(nf4bench({"completion", "powershell"}),
              Ends(2, HasSubstr("\"powershell\" is not one of bash, zsh, fish.")));
}

class ManPage : public testing::Test {
 protected:
  std::string page() const {
    const Outcome outcome = nf4bench({"man"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::ofstream(scratch_.path("nf4bench.1")) << outcome.out;
    return scratch_.path("nf4bench.1");
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(ManPage, GroffRendersItWithoutAWarning) {
  NEEDS("groff");
  const Outcome outcome = shell("groff -man -ww -Tutf8 -P-cbou -rLL=100n '" + page() + "'");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("NF4BENCH(1)"), HasSubstr("--max-time SECONDS"),
                                 HasSubstr("nf4bench run data/llama_layer.safetensors")));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("--variant 'lut*'"), HasSubstr("NF4BENCH_RUN_MAX_TIME"),
                                 HasSubstr("\"$NF4BENCH_CONFIRM_JSON\"")));
}

TEST_F(ManPage, ManRendersItWithoutAWarning) {
  NEEDS("man");
  const Outcome outcome = shell("MANWIDTH=100 man -l --warnings '" + page() + "' | cat");
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, HasSubstr("dequantize"));
}

TEST_F(ManPage, MandocFindsNothingToWarnOf) {
  NEEDS("mandoc");
  const Outcome outcome = shell("mandoc -Tlint -Wwarning '" + page() + "'");
  // There is no date in it, so that two builds give the same page.
  for (const std::string& line : lines_of(outcome.out))
    EXPECT_THAT(line, HasSubstr("missing date"));
}

}  // namespace
}  // namespace nf4bench::test
