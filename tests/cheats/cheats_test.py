#!/usr/bin/env python3
"""Tries every cheat of tests/cheats on the CPU device. The first argument is the program.

docs/reliability.md has the tables: of each file the status, and what gives it away. The words there that stand as
code are in the reason.

NoCheats and NoCheatsOnGpu run what is honest again and again, and count what is taken for anything else:

    NF4BENCH_FALSE_ALARM_RUNS=100 tests/cheats/cheats_test.py build/nf4bench NoCheats
    NF4BENCH_FALSE_ALARM_RUNS=10 tests/cheats/cheats_test.py build/nf4bench NoCheatsOnGpu
"""

import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/cheats"
PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve()) if __name__ == "__main__" else ""
QUICK = ["--shape", "100x77", "--max-time", "0.05"]
LIMIT_S = 300
RUNS = int(os.environ.get("NF4BENCH_FALSE_ALARM_RUNS", "5"))

ROW = re.compile(r"\| (?P<what>[^|]+) \| \[(?P<name>\w+)\]\(\.\./tests/cheats/(?P=name)\.cpp\) \| (?P<status>[\w` ]+) "
                 r"\| (?P<gives_away>[^|]+) \|")

# What could harm others; of two that do, the table tells.
HARMFUL = ["answers_first", "changes_inputs", "closes_files", "forks", "gives_up", "leaves", "leaves_when_loaded",
           "never_pauses", "prints", "reopens_inputs", "rounds_upward", "works_later", "writes_without_end"]

EXIT_CODES = {"ok": 0, "refused": 3, "implausible": 6}
NO_DEVICE = 5

# The built-in variants of each operation: function, and sources below kernels/cpu or kernels/cuda. Of CUDA's products
# those that compile within half a minute.
BUILT_IN = {
    "DEQUANTIZE": (("reference", ["dequantize/reference"]), ("multi_pass", ["dequantize/multi_pass"]),
                   ("lut", ["dequantize/lut"]), ("simd", ["dequantize/simd_decode", "dequantize/simd"])),
    "MATMUL": (("matmul_reference", ["matmul/reference"]),
               ("matmul_simd", ["matmul/simd_product", "matmul/simd_transposed", "matmul/simd"]),
               ("matmul_decode_blas", ["matmul/simd_product", "matmul/simd_transposed", "matmul/blas_library",
                                       "matmul/decode_blas"])),
}
CUDA_BUILT_IN = {
    "DEQUANTIZE": (*((name, ["dequantize/add_offset.cu", f"dequantize/{name}.cu"]) for name in (
                       "branch_tree", "multi_kernel")),
                   *((name, [f"dequantize/{name}.cu"]) for name in (
                       "lut_constant", "lut_shared", "lut_shared_pair", "lut_register", "select_tree", "lop3_prmt",
                       "cache_hints", "warp_persistent", "fused"))),
    "MATMUL": (("matmul_gemv_shuffle", ["matmul/limits.cpp", "matmul/gemv_shuffle.cu"]),
               ("matmul_mma_table", ["matmul/limits.cpp", "matmul/float16_tokens.cu",
                                     "matmul/table/mma_table.cu"])),
}

# Why a variant may say that it cannot do this.
EXCUSES = ("no BLAS library", "multiplies one token")

# Right ones that are a page long: for the CPU, and without host code.
FILES = {
    "DEQUANTIZE": ("docs/examples/try/decode.cpp", "tests/try/kernels/right_and_fast.cpp"),
    "MATMUL": ("tests/try/kernels/product.cpp",),
}
CUDA_FILES = {
    "DEQUANTIZE": ("docs/examples/try/decode.cu", "tests/try/kernels/right_and_slow.cu",
                   "tests/try/kernels/right_and_fast.cu"),
    "MATMUL": ("tests/try/kernels/product.cu",),
    "EXPERTS": ("tests/try/kernels/experts.cu",),
}

# What each operation is run with beside its variants, once or twice: two rows a variant each time.
EXPERTS = ["--tokens", "1,6", "--top-k", "3", "--part"]
WORDS = {"DEQUANTIZE": [["--cache", "cold,hot"]], "MATMUL": [["--tokens", "1,3"]],
         "EXPERTS": [[*EXPERTS, "gate_up"], [*EXPERTS, "down"]]}


def files():
    """The cheats that this processor can run."""
    here = sorted(HERE.glob("*.cpp"))
    if platform.machine() == "x86_64":
        return here
    return [path for path in here if "detour.hpp" not in path.read_text(encoding="utf-8")]


def multiplies(path):
    return "NF4BENCH_CPU_PRODUCT" in path.read_text(encoding="utf-8")


class Scratch(unittest.TestCase):
    DEVICE = "cpu"
    QUICK = QUICK

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)

    def run_program(self, *words, **environment):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"), "NO_COLOR": "1", **environment}
        return subprocess.run([PROGRAM, *words], env=environment, capture_output=True, text=True, check=False,
                              timeout=LIMIT_S)

    def rows_of(self, peers, *words, **environment):
        """Status and reason of each row of a run with these peers."""
        named = [word for path in peers for word in ("--peer", f"x_{path.stem}={path}")]
        result = self.run_program("run", "--device", self.DEVICE, "--no-ceilings", "--quiet", "--json", "-",
                                  *self.QUICK, *named, *words, **environment)
        report = json.loads(result.stdout)
        self.assertTrue(report["complete"], result.stderr)
        return [(row["variant"], row["status"], row["reason"]) for row in report["measurements"]]


class Cheats(Scratch):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for path in (*HERE.glob("*.hpp"), *files()):  # where tries.jsonl may lie beside them
            shutil.copy(path, cls.folder)

    def attempt(self, path):
        words = ["--operation", "matmul", "--tokens", "1"] if multiplies(path) else []
        result = self.run_program("try", str(self.folder / path.name), "--json", "-", "--quiet", *QUICK, *words)
        self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout + result.stderr)
        attempt = json.loads(result.stdout)
        self.assertEqual(result.returncode, EXIT_CODES.get(attempt["status"], 4), result.stderr)
        return attempt

    def test_each_has_the_status_of_the_table(self):
        text = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
        table = {row["name"]: row for row in ROW.finditer(text)}
        self.assertEqual(sorted(table), sorted(path.stem for path in HERE.glob("*.cpp")))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            attempts = list(zip(files(), pool.map(self.attempt, files())))
        for path, attempt in attempts:
            with self.subTest(path.name):
                row = table[path.stem]
                self.assertIn(f"`{attempt['status']}`", row["status"], attempt["reason"])
                for words in re.findall(r"`(.+?)`", row["gives_away"]):
                    self.assertIn(words, attempt["reason"])

    def test_none_spoils_what_others_measure(self):
        peers = [self.folder / f"{name}.cpp" for name in HARMFUL]
        rows = self.rows_of(peers, "--peer-optional", "--variant", "x_*,lut,simd")
        self.assertEqual(len(rows), len(peers) - 1 + 3)  # without the one that ends when loaded, with the baseline
        for variant, status, reason in rows:
            if variant in ("multi_pass", "lut", "simd", "x_forks", "x_prints", "x_reopens_inputs"):
                self.assertEqual(status, "passed", f"{variant}: {reason}")
            else:
                self.assertEqual(status, "failed", variant)


class Honest(Scratch):
    def source_of(self, operation, name, sources, ending):
        path = self.folder / f"{name}{ending}"
        lines = [f'#include "{source}"\n' for source in sources]
        lines.append(f'#include "built_in.hpp"\nNF4BENCH_BUILT_IN(NF4BENCH_PEER_{operation}, {name})\n')
        path.write_text("".join(lines), encoding="utf-8")
        return path

    def no_alarm_of(self, operation, peers, *words, **environment):
        """Runs the peers NF4BENCH_FALSE_ALARM_RUNS times, and wants each of their rows to pass, or to be excused."""
        folders = " ".join(f"-I{ROOT / each}" for each in ("kernels", "src", "tests/cheats"))
        environment = {name: f"{compiler} {folders}" for name, compiler in environment.items()}
        rows, alarms = 0, []
        for options in WORDS[operation] * RUNS:
            found = self.rows_of(peers, *words, *options, "--operation", operation.lower(), "--variant", "x_*",
                                 "--baseline", "none", **environment)
            self.assertEqual(len(found), 2 * len(peers))
            rows += len(found)
            alarms += [row for row in found
                       if row[1] != "passed" and not any(each in (row[2] or "") for each in EXCUSES)]
            print(f"{operation.lower()}: {rows} rows, {len(alarms)} alarms", file=sys.stderr, flush=True)
        self.assertEqual(alarms, [])

    def no_alarm_of_tries(self, operation, names, *words):
        """Tries the files as often, and wants each try to be ok."""
        words = [*self.QUICK, *words, "--operation", operation.lower()]
        words += ["--tokens", "1,3"] if operation == "MATMUL" else []
        alarms = []
        for name in names * RUNS:
            path = shutil.copy(ROOT / name, self.folder)  # where tries.jsonl may lie beside it
            result = self.run_program("try", path, "--json", "-", "--quiet", *words)
            attempt = json.loads(result.stdout or "{}")
            if attempt.get("status") != "ok":
                alarms.append((name, attempt.get("status"), attempt.get("reason", result.stderr)))
        self.assertEqual(alarms, [])
        print(f"{operation.lower()}: {len(names) * RUNS} tries, no alarm", file=sys.stderr)


class NoCheats(Honest):
    """The built-in variants as source files, NF4BENCH_FALSE_ALARM_RUNS times."""

    def test_right_files_are_always_ok(self):
        for operation, names in FILES.items():
            self.no_alarm_of_tries(operation, names)

    def test_built_in_variants_are_never_taken_for_cheats(self):
        for operation, variants in BUILT_IN.items():
            peers = [self.source_of(operation, name, [f"cpu/{each}.cpp" for each in [*sources, "thread_team"]], ".cpp")
                     for name, sources in variants]
            self.no_alarm_of(operation, peers, CXX="c++ -DHWY_COMPILE_ONLY_STATIC")


class NoCheatsOnGpu(Honest):
    """The same of a GPU: kernels without host code and, where nvcc is found, the built-in variants."""

    DEVICE = "cuda"
    QUICK = ["--max-time", "0.05"]

    def setUp(self):
        words = ["--device", "cuda", "--shape", "64x64", "--max-time", "0", "--no-ceilings", "--quiet"]
        if self.run_program("run", *words).returncode == NO_DEVICE:
            self.skipTest("no GPU")

    def shape_of(self, operation):
        return ["--shape", "5x33x77" if operation == "EXPERTS" else "2048x2048"]

    def test_right_files_are_always_ok(self):
        for operation, names in CUDA_FILES.items():
            if operation != "EXPERTS":  # which are not tried
                self.no_alarm_of_tries(operation, names, *self.shape_of(operation))

    def test_kernels_without_host_code_are_never_taken_for_cheats(self):
        for operation, names in CUDA_FILES.items():
            self.no_alarm_of(operation, [ROOT / name for name in names], *self.shape_of(operation))

    def test_built_in_variants_are_never_taken_for_cheats(self):
        nvcc = os.environ.get("NVCC") or shutil.which("nvcc")
        if not nvcc:
            self.skipTest("no nvcc")
        for operation, variants in CUDA_BUILT_IN.items():
            peers = [self.source_of(operation, name, [f"cuda/{each}" for each in sources], ".cu")
                     for name, sources in variants]
            self.no_alarm_of(operation, peers, *self.shape_of(operation), NVCC=nvcc)


if __name__ == "__main__":
    unittest.main()
