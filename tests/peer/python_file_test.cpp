// Functions of Python files as variants, through the program itself.

#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Right, with nothing but Python: float32 alone, since storing into a memoryview of "f" rounds
// once.
const std::string kRight = R"(
import ctypes


def _single(value):
    return ctypes.c_float(value).value


def _scales(state):
    if not state.nested:
        return list(state.absmax)
    outer = state.state2
    return [_single(_single(outer.code[code] * outer.absmax[i // outer.blocksize]) + state.offset[()])
            for i, code in enumerate(state.absmax)]


def right(weight, quant_state, out):
    """The idea of right"""
    scales, columns = _scales(quant_state), quant_state.shape[1]
    for i in range(quant_state.shape[0] * columns):
        byte = weight[i // 2, 0]
        nibble = byte & 15 if i % 2 else byte >> 4
        out[i // columns, i % columns] = quant_state.code[nibble] * scales[i // quant_state.blocksize]

)";

class PythonFile : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = write(kRight);
    const Outcome outcome = list(path);
    if (outcome.err.find("has no shared library") != std::string::npos) {
      GTEST_SKIP() << outcome.err;
    }
  }

  std::string write(const std::string& text) const {
    const std::string path = scratch_.path("solution.py");
    std::ofstream(path) << text;
    return path;
  }

  Outcome with_peer(std::vector<std::string> arguments, const std::string& path) const {
    Command command =
        nf4bench_command(arguments + Words{"--device", "cpu", "--peer", "mine=" + path});
    command.environment.emplace_back("NF4BENCH_PYTHON=" TEST_PYTHON);
    command.environment.insert(command.environment.end(), environment_.begin(), environment_.end());
    return Process(command).wait();
  }

  Outcome list(const std::string& path) const {
    return with_peer({"list", "variants", "--json"}, path);
  }

  Outcome run(const std::string& text, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "run",     "--no-ceilings", "--max-time", "0.02",      "--min-samples", "3",
        "--quiet", "--json",        "-",          "--cache",   "hot",           "--shape",
        "5x13",    "--dtype",       "float32",    "--variant", "mine*,lut"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return with_peer(arguments, write(text));
  }

  ScratchFolder scratch_;
  std::vector<std::string> environment_;
};

// Status and reason of each variant's only row.
using Rows = std::map<std::string, std::pair<std::string, std::string>>;

Rows rows_of(const Outcome& outcome) {
  Rows rows;
  const json report = json::parse(outcome.out);
  for (const json& row : report.at("measurements")) {
    const json& reason = row.at("reason");
    rows[row.at("variant")] = {row.at("status"), reason.is_null() ? "" : std::string(reason)};
  }
  return rows;
}

TEST_F(PythonFile, AFunctionIsAVariantLikeAnyOther) {
  const json report =
      silent_json_of(run(kRight, {"--baseline", "mine.right", "--shape", "32x48", "--plain"}));
  EXPECT_EQ(report.at("measurements").size(), 4u);
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed") << row.at("reason");
    EXPECT_EQ(row.at("speedup").at("baseline"), "mine.right");
  }
  for (const json& variant : report.at("variants")) {
    if (variant.at("name") != "mine.right") continue;
    EXPECT_EQ(variant.at("summary"), "The idea of right");
    EXPECT_EQ(variant.at("launches"), 0);  // it does not say
  }
}

TEST_F(PythonFile, NestedScalesAreGivenAsBitsandbytesHasThem) {
  const Outcome outcome = run(kRight);
  EXPECT_EQ(rows_of(outcome).at("mine.right").first, "passed") << outcome.out;
}

TEST_F(PythonFile, APathNeedsNoSlash) {
  Command command = nf4bench_command({"list", "variants", "--peer", "mine=gone.py"});
  command.environment.emplace_back("NF4BENCH_PYTHON=" TEST_PYTHON);
  EXPECT_THAT(Process(command).wait(),
              Ends(0, HasSubstr("peer mine: cannot open gone.py: No such file")));
}

TEST_F(PythonFile, WhatAFileSaysOfItsFunctionsIsInTheList) {
  const Outcome outcome = list(write(kRight + R"(
right.launches = 3
right.inline_ptx = True
right.cache_hints = True


def linear(x, weight, quant_state):
    return None


def helper(table):
    return table


def needs_more(weight, quant_state, blocks):
    return None


def _private(weight, quant_state):
    return None
)"));
  std::map<std::string, json> found;
  for (const json& row : json::parse(outcome.out)) {
    if (std::string(row.at("name")).starts_with("mine")) found[row.at("name")] = row;
  }
  ASSERT_EQ(found.size(), 2u) << outcome.out;
  EXPECT_EQ(found.at("mine.right").at("launches"), 3);
  EXPECT_EQ(found.at("mine.right").at("inline_ptx"), true);
  EXPECT_EQ(found.at("mine.right").at("cache_hints"), true);
  EXPECT_EQ(found.at("mine.right").at("operation"), "dequantize");
  EXPECT_EQ(found.at("mine.linear").at("operation"), "matmul");
}

TEST_F(PythonFile, WhatAllListsIsWhatCounts) {
  const Outcome outcome = list(write(kRight + "__all__ = ['_hidden']\n_hidden = right\n"));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("mine._hidden"), Not(HasSubstr("mine.right"))));
}

TEST_F(PythonFile, EveryKindOfBadFunctionIsAFailedRowAndTheRestRunsOn) {
  const Outcome outcome = run(kRight + R"(
import sys


def raises(weight, quant_state, out):
    raise ValueError("no idea\nand a second line")


def wrong(weight, quant_state, out):
    right(weight, quant_state, out)
    out[4, 12] = 7.0


def nothing(weight, quant_state, out):
    print("something for stdout")


def returns_nothing(weight, quant_state):
    pass


def returns_a_list(weight, quant_state):
    return [1, 2]


def quits(weight, quant_state, out):
    sys.exit(3)


_calls = []


def tires(weight, quant_state, out):
    _calls.append(1)
    if len(_calls) > 2:
        raise RuntimeError("after call 2")
    right(weight, quant_state, out)


def past(weight, quant_state, out):
    right(weight, quant_state, out)
    ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(out)) + 4 * 65, 0, 8)


def lies_later(weight, quant_state, out):
    _calls.append(1)
    if len(_calls) < 5:
        right(weight, quant_state, out)


def declines(weight, quant_state, out):
    raise AssertionError("never called")


declines.unsupported = lambda state, device: f"not {state.dtype} on {device.type}, {state.shape}"
)");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  Rows rows = rows_of(outcome);
  const std::map<std::string, std::string> reasons = {
      {"mine.raises", "ValueError: no idea (solution.py:30)"},
      {"mine.wrong", "1 of 65 elements differ"},
      {"mine.nothing", "65 of 65 elements differ"},
      {"mine.returns_nothing", "returned nothing, and has no parameter out"},
      {"mine.returns_a_list", "TypeError: returned list; without numpy"},
      {"mine.quits", "SystemExit: 3 (solution.py:"},
      {"mine.tires", "RuntimeError: after call 2 (solution.py:"},
      {"mine.past", "wrote past the end of its output"},
      {"mine.lies_later", "in a timed sample (hot stream"}};
  for (const auto& [name, reason] : reasons) {
    EXPECT_EQ(rows.at(name).first, "failed") << name;
    EXPECT_THAT(rows.at(name).second, HasSubstr(reason)) << name;
  }
  EXPECT_EQ(rows.at("mine.declines"),
            (std::pair<std::string, std::string>{"skipped", "not float32 on cpu, (5, 13)"}));
  EXPECT_EQ(rows.at("mine.right").first, "passed") << rows.at("mine.right").second;
  EXPECT_EQ(rows.at("lut").first, "passed");
  EXPECT_THAT(outcome.err, HasSubstr("something for stdout"));
}

TEST_F(PythonFile, AFileThatCannotBeUsedIsAWarningThatSaysWhy) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"def f(:\n", "SyntaxError: invalid syntax (solution.py:1)"},
      {"import no_such_module\n",
       "ModuleNotFoundError: No module named 'no_such_module' (solution.py:1); Python is /"},
      {"import sys\nsys.exit(2)\n", "calls sys.exit(2) while it is imported"},
      {"x = 1\ndef helper(a, b):\n  pass\n", "has no function that can be called with a weight"},
      {kRight + "def right(weight, quant_state):\n  pass\n",
       "defines right in lines 17 and 25, of which Python keeps the last; rename one"},
      {kRight + "right.launches = 'one'\n", "launches of a function is 'one'"},
      {kRight + "right.torch_compile = True\n",
       "right.torch_compile is set, and its arrays are not torch's"},
      {kRight + "right.arrays = 'jax'\n", "arrays = 'jax': wanted one of torch, cupy, numpy, none"},
      {"__all__ = ['gone']\n", "lists gone in __all__ and does not define it"},
      {"raise KeyboardInterrupt\n", "KeyboardInterrupt (solution.py:1)"},
      {kRight + "naïve = right\ndel right\n", "is not 1 to 64 letters, digits, _ or -"},
      {"x = '\xff'\n", "SyntaxError: "}};
  for (const auto& [text, reason] : cases) {
    EXPECT_THAT(list(write(text)),
                AllOf(Ends(0, AllOf(HasSubstr("warning: peer mine: "), HasSubstr(reason))),
                      Prints(Not(HasSubstr("mine.")))))
        << text;
  }
}

TEST_F(PythonFile, AnImportThatDoesNotEndIsEnded) {
  environment_.emplace_back("NF4BENCH_PYTHON_IMPORT_S=0.2");
  for (const char* const text : {"while True:\n  pass\n", "import time\ntime.sleep(60)\n",
                                 "import threading\nthreading.Event().wait(60)\n",
                                 "import subprocess\nsubprocess.run(['sleep', '60'])\n"}) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(list(write(text)),
                Ends(0, HasSubstr("is not imported after 0.2 s; NF4BENCH_PYTHON_IMPORT_S")))
        << text;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50)) << text;
  }
}

TEST_F(PythonFile, NothingOfTheCurrentFolderIsRun) {
  const ScratchFolder current;
  for (const char* const name : {"sysconfig.py", "os.py", "ctypes.py", "ast.py", "inspect.py"}) {
    std::ofstream(current.path(name)) << "open('ran', 'w').close()\nraise SystemExit(5)\n";
  }
  Command command =
      nf4bench_command({"list", "variants", "--device", "cpu", "--peer", "mine=" + write(kRight)});
  command.environment.emplace_back("NF4BENCH_PYTHON=" TEST_PYTHON);
  const std::vector<std::string> there = {"/usr/bin/env", "--chdir=" + current.path("")};
  command.arguments.insert(command.arguments.begin(), there.begin(), there.end());
  const Outcome outcome = Process(command).wait();
  EXPECT_THAT(outcome.out, HasSubstr("mine.right")) << outcome.err;
  EXPECT_FALSE(std::ifstream(current.path("ran")).is_open());
}

TEST_F(PythonFile, FilesFindWhatLiesBesideThem) {
  std::ofstream(scratch_.path("beside.py")) << kRight;
  const Outcome outcome = run("from beside import right\n");
  EXPECT_EQ(rows_of(outcome).at("mine.right").first, "passed") << outcome.err;
}

TEST_F(PythonFile, WithoutAnInterpreterThereIsAWarning) {
  const auto without = [&](const std::string& interpreter) {
    environment_ = {"NF4BENCH_PYTHON=" + interpreter};
    return list(write(kRight)).err;
  };
  EXPECT_THAT(without("/nowhere/python3"),
              HasSubstr("a Python file needs an interpreter, and /nowhere/python3 is none"));
  EXPECT_THAT(without("/bin/true"), HasSubstr("install python3, or NF4BENCH_PYTHON="));
  const std::string fake = scratch_.path("fake");
  std::ofstream(fake) << "#!/bin/sh\necho /opt/python3; echo 3.12.3; echo; echo /opt:/opt\n";
  std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
  EXPECT_THAT(without(fake), AllOf(HasSubstr("Python 3.12.3 at /opt/python3 has no shared library"),
                                   HasSubstr("libpython3.12"), HasSubstr("--enable-shared")));
  std::ofstream(fake) << "#!/bin/sh\necho /opt/python3; echo 3.12.3; echo /bin/sh; echo /:/\n";
  EXPECT_THAT(without(fake), HasSubstr("cannot load the library of Python 3.12.3: "));
}

// As two versions of one solution have.
TEST_F(PythonFile, TwoFilesMayEachHaveAModuleOfOneName) {
  const std::string folder = scratch_.path("other");
  std::filesystem::create_directory(folder);
  std::ofstream(scratch_.path("kernels.py")) << kRight;
  std::ofstream(folder + "/kernels.py") << "def right(weight, quant_state, out):\n  pass\n";
  std::ofstream(folder + "/solution.py") << "from kernels import right\n";
  const Outcome outcome =
      run("from kernels import right\n",
          {"--peer", "other=" + folder + "/solution.py", "--variant", "other*"});
  const Rows rows = rows_of(outcome);
  EXPECT_EQ(rows.at("mine.right").first, "passed") << outcome.err;
  EXPECT_EQ(rows.at("other.right").first, "failed") << outcome.err;
}

TEST_F(PythonFile, DequantizeDecodesWithAFunction) {
  EXPECT_THAT(with_peer({"dequantize", sample("odd_shapes.safetensors"), "-o",
                         scratch_.path("out.safetensors"), "--dtype", "float32", "--quiet",
                         "--variant", "mine.right"},
                        write(kRight)),
              Ends(0));
  const Outcome own = nf4bench({"dequantize", sample("odd_shapes.safetensors"), "-o",
                                scratch_.path("own.safetensors"), "--dtype", "float32", "--quiet",
                                "--device", "cpu", "--variant", "lut"});
  EXPECT_EQ(own.exit_code, 0) << own.err;
  EXPECT_EQ(read_file(scratch_.path("out.safetensors")),
            read_file(scratch_.path("own.safetensors")));
}

// The program has nothing of Python until a file asks for it.
TEST(PythonIsFarAway, TheProgramLinksNothingOfPython) {
  EXPECT_EQ(shell("readelf -d \"$NF4BENCH\" | grep -i python").exit_code, 1);
  EXPECT_EQ(shell("readelf -d \"$NF4BENCH\" | grep -q NEEDED").exit_code, 0);
}

}  // namespace
}  // namespace nf4bench::test
