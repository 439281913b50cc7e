#!/usr/bin/env python3
"""nf4bench.load on reports of today's program and on kept ones. Usage: reports_test.py NF4BENCH LIBNF4"""

import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import nf4bench

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER_VERSION = ".".join(re.findall(r"NF4_VERSION_M\w+ (\d+)", (ROOT / "include/nf4.h").read_text("utf-8"))) + ".0"
PROGRAM = LIBRARY = None


def has(package):
    with contextlib.suppress(ImportError):
        __import__(package)
        return True
    return False


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name) / "report.json"
        subprocess.run([PROGRAM, "run", "--shape", "128x192", "--shape", "64x64", "--device", "cpu", "--max-time",
                        "0.02", "--quiet", "--no-ceilings", "--variant", "multi_pass,simd", "--json", cls.path],
                       check=True, capture_output=True)

    def test_a_report_of_this_program(self):
        report = nf4bench.load(self.path)
        self.assertTrue(report.complete)
        self.assertEqual([each.shape for each in report.tensors], [(128, 192), (64, 64)])
        self.assertEqual({each.variant for each in report.measurements}, {"multi_pass", "simd"})
        for each in report.measurements:
            self.assertTrue(each.passed)
            self.assertIn(each.tensor, report.tensors)
            self.assertGreater(each.time.median, 0)
            self.assertLessEqual(each.time.min, each.time.median)
            self.assertEqual(each.time.median, each.raw["time_s"]["median"])
            self.assertIsNone(each.tokens)
        self.assertEqual({each.speedup.baseline for each in report.measurements}, {"multi_pass"})

    def test_kept_reports(self):
        kept = sorted((ROOT / "docs" / "results").glob("h200*/*.json"))
        read = 0
        for path in kept:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw.get("schema") != "nf4bench.report":
                with self.assertRaises(nf4bench.NotAReport):
                    nf4bench.load(path)
                continue
            report = nf4bench.load(path)
            self.assertEqual(len(report.measurements), len(raw["measurements"]))
            read += 1
        self.assertGreater(read, 5)
        tokens = {each.tokens for each in nf4bench.load(ROOT / "docs/results/h200/matmul-llama-3.1-8b.json").measurements}
        self.assertIn(8, tokens)

    def test_what_is_printed_fits_a_screen(self):
        for path in (self.path, ROOT / "docs/results/h200/geometries.json"):
            report = nf4bench.load(path)
            for each in (report, *report.measurements):
                self.assertLess(len(repr(each)), 1200)
            for words in (report.device, report.host, f"{len(report.measurements)} measurements"):
                self.assertIn(words, repr(report))

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_frames(self):
        report = nf4bench.load(self.path)
        frame = report.frame()
        self.assertEqual(len(frame), len(report.measurements))
        best = frame.groupby("variant")["median_s"].median()
        self.assertEqual(set(best.index), {"multi_pass", "simd"})
        samples = report.samples()
        self.assertEqual(len(samples), sum(len(each.samples_s) for each in report.measurements))

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_frames_of_several_machines_can_be_joined(self):
        report = nf4bench.load(ROOT / "docs/results/h200/geometries.json")
        for frame in (report.frame(), report.samples()):
            for column, value in (("host", report.host), ("device", "cuda:0"), ("device_name", "NVIDIA H200"),
                                  ("device_uuid", report.raw["device"]["uuid"])):
                self.assertEqual(set(frame[column]), {value})
        self.assertEqual(set(nf4bench.load(self.path).frame()["device_uuid"]), {None})

    @unittest.skipUnless(has("matplotlib"), "no matplotlib")
    def test_plots_are_saved_whole(self):
        for name, kind in (("geometries", "bandwidth"), ("geometries", "speedup"), ("matmul-llama-3.1-8b", "tokens")):
            figure = nf4bench.load(ROOT / f"docs/results/h200/{name}.json").plot(kind)
            figure.savefig(io.BytesIO())
            edges = figure.bbox
            drawn = figure.get_tightbbox(figure.canvas.get_renderer()).transformed(figure.dpi_scale_trans)
            self.assertGreaterEqual((round(drawn.x0), round(drawn.y0)), (0, 0), kind)
            self.assertLessEqual(round(drawn.x1), edges.x1, kind)
            self.assertLessEqual(round(drawn.y1), edges.y1, kind)

    def test_versions_are_those_of_the_program_and_of_the_library(self):
        said = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(nf4bench.__version__, said.split()[1])
        self.assertEqual(subprocess.run(
            [sys.executable, "-c", "import nf4bench; print(nf4bench.libnf4_version())"], text=True, check=True,
            capture_output=True, env={**os.environ, "NF4_LIBRARY": LIBRARY}).stdout.strip(), HEADER_VERSION)
        with unittest.mock.patch.dict(os.environ, NF4_LIBRARY="/nowhere/libnf4.so"):
            with self.assertRaisesRegex(nf4bench.Nf4Error, "/nowhere"):
                nf4bench.libnf4_version()

    def test_the_module_is_the_program(self):
        """In a package as it is installed: the program beside it, or on PATH."""
        environment = {**os.environ, "PATH": str(pathlib.Path(PROGRAM).parent)}

        def run(*words, **changed):
            return subprocess.run([sys.executable, "-m", "nf4bench", *words], text=True, capture_output=True,
                                  env={**environment, **changed})
        direct = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True)
        self.assertEqual(run("--version").stdout, direct.stdout)
        self.assertEqual(run("list", "--nonsense").returncode, 2)
        nowhere = run("--version", PATH="/nowhere")
        self.assertEqual((nowhere.returncode, nowhere.stdout), (1, ""))
        self.assertIn("pip install", nowhere.stderr)

    def test_what_is_no_report(self):
        def loading(text):
            path = self.path.with_name("other.json")
            path.write_text(text, encoding="utf-8")
            return nf4bench.load(path)

        for text in ("", "[]", "{}", "7", '{"schema": "nf4bench.report"}',
                     '{"schema": "nf4bench.report", "schema_version": "1.0.0"}',
                     '{"schema": "nf4bench.report", "schema_version": "2.0.0"}',
                     '{"schema": "nf4bench.report", "schema_version": "1.0.0", "tensors": 5}'):
            with self.subTest(text), self.assertRaises(nf4bench.NotAReport):
                loading(text)
        with self.assertRaises(OSError):
            nf4bench.load(self.path.with_name("absent.json"))

    def test_needs_neither_torch_nor_pandas(self):
        code = "import nf4bench, sys; print([each for each in ('torch', 'pandas', 'matplotlib') if each in sys.modules])"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip(),
                         "[]")


if __name__ == "__main__":
    PROGRAM, LIBRARY = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
