#!/usr/bin/env python3
"""Tries every kernel of tests/try/kernels on the CPU device. The argument is the program.

The first line of each names the status that is to come of it and, of a wrong one, the pattern. What is printed is
held to docs/try.schema.json.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
KERNELS = ROOT / "tests/try/kernels"
EXIT_CODES = {"ok": 0, "compile_error": 3, "refused": 3, "wrong": 4, "stateful": 4, "crash": 4, "timeout": 4,
              "unsupported": 6, "implausible": 6}
QUICK = ["--shape", "61x65", "--max-time", "0.05"]
LIMIT_S = 120
NO_DEVICE = 5

try:
    import jsonschema
except ImportError:
    jsonschema = None


class Tried(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.environment = dict(os.environ, XDG_CACHE_HOME=str(cls.folder / "cache"), NO_COLOR="1")
        cls.schema = json.loads((ROOT / "docs/try.schema.json").read_text(encoding="utf-8"))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_program(self, *words):
        return subprocess.run([PROGRAM, *words], env=self.environment, capture_output=True, text=True,
                              check=False, timeout=LIMIT_S)

    def copy_of(self, name, folder):
        path = self.folder / folder
        path.mkdir(exist_ok=True)
        return pathlib.Path(shutil.copy(KERNELS / name, path))

    def tried(self, path, *words):
        result = self.run_program("try", str(path), "--json", "-", "-q", *QUICK, *words)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 1, result.stdout + result.stderr)
        attempt = json.loads(lines[0])
        if jsonschema is not None:
            jsonschema.validate(attempt, self.schema)
        self.assertEqual(result.returncode, EXIT_CODES[attempt["status"]], result.stderr)
        return attempt

    def test_each_kernel_has_the_status_that_it_names(self):
        self.each_has_its_status("*.cpp")

    def test_each_kernel_for_a_gpu_has_the_status_that_it_names(self):
        if self.run_program("try", str(KERNELS / "right_and_slow.cu"), *QUICK).returncode == NO_DEVICE:
            self.skipTest("no GPU")
        self.each_has_its_status("*.cu")

    def each_has_its_status(self, files):
        for path in sorted(KERNELS.glob(files)):
            status, pattern = re.match(r"// (\w+)(?:, (\w+))?: ", path.read_text(encoding="utf-8")).groups()
            with self.subTest(path.name):
                words = ["--call-timeout", "2"] if status == "timeout" else []
                words += ["--operation", "matmul", "--tokens", "1,3"] if path.stem == "product" else []
                attempt = self.tried(self.copy_of(path.name, "all"), *words)
                self.assertEqual(attempt["status"], status, attempt["reason"])
                self.assertEqual(attempt["reason"] is None, status == "ok")
                if pattern:
                    self.assertEqual(attempt["cells"][0]["first_wrong"]["pattern"], pattern)
                if path.name == "spills.cu":
                    self.assertGreater(attempt["cells"][0]["kernel"]["spill_bytes"], 0)
                    self.assertIn("spills", attempt["cells"][0]["hint"])

    def test_a_right_one_is_compared_with_the_fastest_and_the_baseline(self):
        cell = self.tried(self.copy_of("right_and_fast.cpp", "compared"))["cells"][0]
        self.assertEqual(cell["vs_fastest"]["variant"], "simd")
        self.assertEqual(cell["vs_baseline"]["variant"], "multi_pass")
        self.assertIsNone(cell["vs_last"])
        self.assertGreater(cell["median_s"], 0)

    def test_the_compiler_is_quoted_with_lines(self):
        errors = self.tried(self.copy_of("syntax_error.cpp", "quoted"))["errors"]
        self.assertEqual([error["line"] for error in errors], [5, 6])
        self.assertTrue(all(error["file"].endswith("syntax_error.cpp") for error in errors))

    def test_edits_are_compared_with_the_last_and_the_best_is_found(self):
        path = self.copy_of("right_and_fast.cpp", "edits")
        fast = path.read_text(encoding="utf-8")
        slow = (ROOT / "docs/examples/try/decode.cpp").read_text(encoding="utf-8")
        wrong = (KERNELS / "swapped_nibbles.cpp").read_text(encoding="utf-8")
        ids = []
        for text in (slow, wrong, fast, slow + "// again\n"):
            path.write_text(text, encoding="utf-8")
            attempt = self.tried(path, "--shape", "512x1024")
            ids.append(attempt["id"])
            if text == fast:
                self.assertEqual(attempt["last"], ids[0])  # that between them was wrong
                self.assertGreater(attempt["cells"][0]["vs_last"]["ratio"], 1.0)
        listed = self.run_program("tries", str(path), "--json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        found = [json.loads(line) for line in listed.stdout.splitlines()]
        self.assertEqual(found[0]["id"], ids[2])
        self.assertEqual(found[-1]["status"], "wrong")
        self.assertIn(ids[2], self.run_program("tries", str(path)).stdout)

    def test_tries_at_the_same_time_each_leave_a_line(self):
        path = self.copy_of("right_and_fast.cpp", "together")
        words = [PROGRAM, "try", str(path), "-q", *QUICK]
        running = [subprocess.Popen(words, env=self.environment) for _ in range(3)]
        self.assertEqual([each.wait(LIMIT_S) for each in running], [0, 0, 0])
        lines = (path.parent / "tries.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len({json.loads(line)["id"] for line in lines}), 3)

    def test_a_torn_line_is_passed_over(self):
        path = self.copy_of("right_and_fast.cpp", "torn")
        (path.parent / "tries.jsonl").write_text('{"schema":"nf4bench.t', encoding="utf-8")
        self.tried(path)
        listed = self.run_program("tries", str(path), "--json")
        self.assertEqual(len(listed.stdout.splitlines()), 1)
        self.assertIn("1 lines are no tries", listed.stderr)

    def test_a_list_of_tries_names_no_code_to_be_run(self):
        path = self.copy_of("right_and_fast.cpp", "foreign")
        first = self.tried(path)
        foreign = shutil.copy(first["library"], self.folder / "foreign/other.so")
        first["library"] = str(foreign)
        (path.parent / "tries.jsonl").write_text(json.dumps(first) + "\n", encoding="utf-8")
        path.write_text(path.read_text(encoding="utf-8").replace("i < end", "end > i"), encoding="utf-8")
        self.assertIsNone(self.tried(path)["last"])

    def test_what_the_compiler_made_is_kept(self):
        path = self.copy_of("right_and_fast.cpp", "kept")
        self.tried(path, "--keep", str(self.folder / "kept/out"))
        for name in ("right_and_fast.cpp", "right_and_fast.s", "compiler.log"):
            self.assertTrue((self.folder / "kept/out" / name).is_file(), name)

    def test_keep_replaces_only_what_it_wrote(self):
        path = self.copy_of("right_and_fast.cpp", "mine")
        own = path.with_suffix(".s")
        for folder in (self.folder / "mine", self.folder / "by_hand"):
            folder.mkdir(exist_ok=True)
            by_hand = folder / own.name
            by_hand.write_text("by hand")
            result = self.run_program("try", str(path), "--keep", str(folder), *QUICK)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("name another folder", result.stderr)
            self.assertEqual(by_hand.read_text(), "by hand")
        for _ in range(2):
            self.tried(path, "--keep", str(self.folder / "again"))

    def test_a_try_that_cannot_be_kept_is_shown(self):
        path = self.copy_of("right_and_fast.cpp", "unkept")
        result = self.run_program("try", str(path), "--json", "-", "-q", "--trace", "/dev/full", *QUICK)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("/dev/full", result.stderr)
        self.assertEqual(json.loads(result.stdout)["status"], "ok")

    def test_what_a_kernel_prints_is_seen(self):
        path = self.copy_of("right_and_fast.cpp", "prints")
        text = path.read_text(encoding="utf-8")
        path.write_text("#include <cstdio>\n" + re.sub(r"(static int \w+\([^)]*\) {)", r'\1 printf("a line\\n");', text),
                        encoding="utf-8")
        result = self.run_program("try", str(path), *QUICK)
        self.assertIn("a line", result.stderr)
        self.assertIn("the rest of what it writes is not shown", result.stderr)
        self.assertNotIn("progress 0", result.stderr)
        path.write_text('#include <cstdio>\n#include "nf4bench_kernel.h"\nstatic int decode(const nf4bench_peer_job*, void*) {'
                        'printf("the end\\n"); __builtin_trap(); }\nNF4BENCH_CPU_DECODE(decode)\n', encoding="utf-8")
        self.assertIn("the end", self.tried(path)["reason"])

    def test_a_file_that_is_watched_is_tried_at_each_save(self):
        path = self.copy_of("right_and_fast.cpp", "watched")
        words = [PROGRAM, "try", str(path), "--watch", "--json", "-", "-q", *QUICK]
        with subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE, text=True) as watching:
            first = json.loads(watching.stdout.readline())
            path.write_text(path.read_text(encoding="utf-8") + "int broken = ;\n", encoding="utf-8")
            second = json.loads(watching.stdout.readline())
            time.sleep(0.5)
            watching.terminate()
            self.assertEqual(watching.wait(LIMIT_S), 143)
        self.assertEqual([first["status"], second["status"]], ["ok", "compile_error"])

    def test_counters_of_a_cpu_are_refused_or_explained(self):
        path = self.copy_of("right_and_fast.cpp", "counted")
        refused = self.run_program("try", str(path), "--why", *QUICK)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("counters are read on GPUs", refused.stderr)
        library = shutil.copy(self.tried(path)["library"], self.folder / "counted/mine.so")
        with unittest.mock.patch.dict(self.environment, CUDA_VISIBLE_DEVICES=""):
            cell = self.tried(library, "--why")["cells"][0]
        self.assertGreater(cell["median_s"], 0)
        self.assertIn("this is the CPU", cell["counters"]["unavailable"])
        self.assertEqual(cell["counters"]["kernels"], 0)

    def test_a_solution_of_other_benchmarks_is_tried_as_what_it_holds(self):
        path = self.folder / "solution.json"
        source = (KERNELS / "right_and_fast.cpp").read_text(encoding="utf-8")
        solution = {"name": "mine", "spec": {"language": "cpp", "entry_point": "src/kernel.cpp::decode"},
                    "sources": [{"path": "src/kernel.cpp", "content": '#include "part.hpp"\n' + source},
                                {"path": "src/part.hpp", "content": "#pragma once\n"}]}
        path.write_text(json.dumps(solution), encoding="utf-8")
        attempt = self.tried(path)
        self.assertEqual([attempt["status"], attempt["solution"]], ["ok", {"name": "mine", "definition": None}])
        for place in ("../kernel.cpp", "/tmp/kernel.cpp", "src/.."):
            solution["sources"][0]["path"] = place
            path.write_text(json.dumps(solution), encoding="utf-8")
            refused = self.run_program("try", str(path), *QUICK)
            self.assertEqual(refused.returncode, 3, place)
            self.assertIn("sources[0].path", refused.stderr)

    def traced(self, path, trace, *words):
        """The lines that a try adds to `trace`, held to what both benchmarks demand of theirs."""
        before = trace.read_text(encoding="utf-8") if trace.exists() else ""
        self.tried(path, "--trace", str(trace), *words)
        text = trace.read_text(encoding="utf-8")
        self.assertTrue(text.startswith(before))
        lines = [json.loads(line) for line in text[len(before):].splitlines()]
        for line in lines:
            self.assertEqual(set(line), {"definition", "workload", "solution", "evaluation"})
            self.assertEqual(set(line["workload"]), {"uuid", "axes", "inputs"})
            evaluation = line["evaluation"]
            self.assertTrue(evaluation["environment"]["hardware"] and evaluation["timestamp"])
            self.assertEqual(evaluation["correctness"] is not None,
                             evaluation["status"] in ("PASSED", "INCORRECT_NUMERICAL"))
            self.assertEqual(evaluation["performance"] is not None, evaluation["status"] == "PASSED")
        return lines

    def test_a_trace_is_what_other_benchmarks_read(self):
        path = self.folder / "traced/solution.json"
        path.parent.mkdir()
        trace = path.parent / "trace.jsonl"
        solution = {"name": "mine", "definition": "nf4_decode", "spec": {"entry_point": "kernel.cpp::decode"},
                    "sources": [{"path": "kernel.cpp", "content": ""}]}
        statuses = []
        for name in ("right_and_fast.cpp", "swapped_nibbles.cpp", "syntax_error.cpp"):
            solution["sources"][0]["content"] = (KERNELS / name).read_text(encoding="utf-8")
            path.write_text(json.dumps(solution), encoding="utf-8")
            lines = self.traced(path, trace)
            self.assertEqual({(line["definition"], line["solution"]) for line in lines}, {("nf4_decode", "mine")})
            statuses.append({line["evaluation"]["status"] for line in lines})
            if name == "right_and_fast.cpp":
                evaluation = lines[0]["evaluation"]
                axes = {"N": 61, "K": 65, "blocksize": 64, "nested": 1}
                self.assertEqual(lines[0]["workload"]["axes"], axes)
                self.assertEqual(evaluation["correctness"]["max_absolute_error"], 0)
                times = evaluation["performance"]
                self.assertAlmostEqual(times["reference_latency_ms"] / times["latency_ms"], times["speedup_factor"])
        self.assertEqual(statuses, [{"PASSED"}, {"INCORRECT_NUMERICAL"}, {"COMPILE_ERROR"}])

    def test_a_trace_replaces_no_other_file(self):
        path = self.copy_of("right_and_fast.cpp", "untraced")
        kept = path.read_bytes()
        for place in (path, path.parent / "tries.jsonl", "-"):
            self.assertEqual(self.run_program("try", str(path), *QUICK, "--trace", str(place)).returncode, 2, place)
        self.assertEqual(path.read_bytes(), kept)

    def test_what_is_no_kernel_is_an_error_of_the_caller(self):
        missing = self.run_program("try", str(self.folder / "none.cpp"))
        self.assertEqual(missing.returncode, 3)
        self.assertIn("none.cpp", missing.stderr)
        self.assertEqual(self.run_program("try", str(KERNELS / "truncated.cpp"), "--device", "all").returncode, 2)


if __name__ == "__main__":
    unittest.main()
