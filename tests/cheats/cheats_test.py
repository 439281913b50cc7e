#!/usr/bin/env python3
"""Tries every cheat of tests/cheats on the CPU device. The first argument is the program.

docs/reliability.md has the tables: of each file the status, and what gives it away. The words there that stand as
code are in the reason.
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
           "prints", "reopens_inputs", "rounds_upward", "works_later", "writes_without_end"]

EXIT_CODES = {"ok": 0, "refused": 3, "implausible": 6}

# The built-in variants of each operation: function, and sources below kernels/cpu.
BUILT_IN = {
    "DEQUANTIZE": (("reference", ["dequantize/reference"]), ("multi_pass", ["dequantize/multi_pass"]),
                   ("lut", ["dequantize/lut"]), ("simd", ["dequantize/simd_decode", "dequantize/simd"])),
    "MATMUL": (("matmul_reference", ["matmul/reference"]),
               ("matmul_simd", ["matmul/simd_product", "matmul/simd_transposed", "matmul/simd"]),
               ("matmul_decode_blas", ["matmul/simd_product", "matmul/simd_transposed", "matmul/blas_library",
                                       "matmul/decode_blas"])),
}


def files():
    """The cheats that this processor can run."""
    here = sorted(HERE.glob("*.cpp"))
    if platform.machine() == "x86_64":
        return here
    return [path for path in here if "detour.hpp" not in path.read_text(encoding="utf-8")]


def multiplies(path):
    return "NF4BENCH_CPU_PRODUCT" in path.read_text(encoding="utf-8")


class Scratch(unittest.TestCase):
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
        result = self.run_program("run", "--device", "cpu", "--no-ceilings", "--quiet", "--json", "-", *QUICK, *named,
                                  *words, **environment)
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


class NoCheats(Scratch):
    """The built-in variants as source files, NF4BENCH_FALSE_ALARM_RUNS times."""

    def test_built_in_variants_are_never_taken_for_cheats(self):
        found = []
        for operation, variants in BUILT_IN.items():
            peers = []
            for name, sources in variants:
                lines = [f'#include "cpu/{source}.cpp"\n' for source in [*sources, "thread_team"]]
                lines.append(f'#include "built_in.hpp"\nNF4BENCH_BUILT_IN(NF4BENCH_PEER_{operation}, {name})\n')
                peers.append(self.folder / f"{name}.cpp")
                peers[-1].write_text("".join(lines), encoding="utf-8")
            folders = " ".join(f"-I{ROOT / each}" for each in ("kernels", "src", "tests/cheats"))
            words = ["--operation", operation.lower(), "--variant", "x_*", "--baseline", "none"]
            words += ["--tokens", "1,3"] if operation == "MATMUL" else ["--cache", "cold,hot"]
            for _ in range(RUNS):
                rows = self.rows_of(peers, *words, CXX=f"c++ -DHWY_COMPILE_ONLY_STATIC {folders}")
                self.assertEqual(len(rows), 2 * len(peers))
                found += rows
        alarms = [row for row in found if row[1] != "passed" and "no BLAS library" not in (row[2] or "")]
        self.assertEqual(alarms, [])
        print(f"{len(found)} rows of {RUNS} runs, no alarm", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
