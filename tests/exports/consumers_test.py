"""Reads what "nf4bench export" writes with the tools that it is meant for.

Usage: consumers_test.py PATH_OF_NF4BENCH. What is not installed is skipped, or with
NF4BENCH_ALL_CONSUMERS in the environment a failure.
"""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/report/golden"
COMPARE = pathlib.Path("/usr/share/benchmark/compare.py")  # Debian: libbenchmark-tools
BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "nf4bench"

PROMTOOL = shutil.which("promtool")  # Debian: prometheus

try:
    import pandas
except ImportError:
    pandas = None


def unless_there(tool, name):
    """Skips a test whose tool is not installed, where that is allowed."""
    required = bool(os.environ.get("NF4BENCH_ALL_CONSUMERS"))
    return unittest.skipUnless(tool or required, f"needs {name}")


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def export(name, form, *more):
    """The text that the program writes for a golden report."""
    result = subprocess.run([BINARY, "export", str(GOLDEN / name), "--to", form, *more],
                            capture_output=True, check=True)
    return result.stdout.decode("utf-8")


def export_json(name, form, *more):
    return json.loads(export(name, form, *more), parse_constant=refuse_constant)


def report_of(name):
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


def timed(report):
    return [m for m in report["measurements"] if m["status"] == "passed"]


class Csv(unittest.TestCase):
    def test_gives_every_number_back_bit_for_bit(self):
        for name in ("gpu.json", "cpu.json", "matmul.json"):
            report = report_of(name)
            rows = list(csv.DictReader(io.StringIO(export(name, "csv"), newline="")))
            self.assertEqual(len(rows), len(report["measurements"]))
            for row, m in zip(rows, report["measurements"]):
                self.assertEqual(row["variant"], m["variant"])
                self.assertEqual(row["reason"], m["reason"] or "")
                self.assertEqual(int(row["bytes_read"]), m["bytes"]["read"])
                self.check_numbers(row, m)

    def check_numbers(self, row, m):
        time, speedup = m["time_s"], m["speedup"]
        expected = {"tokens": m["tokens"], "flops": m["flops"], "flops_per_s": m["flops_per_s"],
                    "fraction_of_roof": m["fraction_of_roof"],
                    "median_s": time and time["median"], "mad_s": time and time["mad"],
                    "ci95_low_s": time and time["ci95"][0], "bytes_per_s": m["bytes_per_s"],
                    "fraction_of_copy": m["fraction_of_copy"],
                    "speedup": speedup and speedup["ratio"],
                    "speedup_ci95_high": speedup and speedup["ci95"][1]}
        for field, value in expected.items():
            self.assertEqual(float(row[field]) if row[field] else None, value, field)

    @unless_there(pandas, "pandas")
    def test_is_read_by_pandas_with_numbers_as_numbers(self):
        frame = pandas.read_csv(io.StringIO(export("gpu.json", "csv")),
                                float_precision="round_trip")
        fastest = frame[frame.variant == "fused"].sort_values("elements")
        self.assertEqual(frame["median_s"].dtype, float)
        wanted = [m["time_s"]["median"] for m in timed(report_of("gpu.json"))
                  if m["variant"] == "fused"]
        self.assertEqual(sorted(wanted), sorted(fastest[fastest.status == "passed"].median_s))

    def test_holds_a_header_alone_when_nothing_was_measured(self):
        self.assertEqual(export("empty.json", "csv").count("\r\n"), 1)


class MatrixProducts(unittest.TestCase):
    """Cells that differ in tokens alone are cells of their own in every format."""

    def setUp(self):
        self.report = report_of("matmul.json")
        self.names = {f"matmul/{m['variant']}/{'x'.join(map(str, t['shape']))}/block:64/nested/"
                      f"{m['output_dtype']}/tokens:{m['tokens']}/{m['cache']}/{m['launch']}"
                      for m in timed(self.report) for t in self.report["tensors"]
                      if t["id"] == m["tensor"]}
        self.assertEqual(len(self.names), len(timed(self.report)))

    def test_have_names_of_their_own(self):
        entries = export_json("matmul.json", "google-benchmark")["benchmarks"]
        self.assertEqual({e["run_name"] for e in entries}, self.names)
        self.assertEqual(set(export_json("matmul.json", "bencher")), self.names)
        device = self.report["device"]["name"]
        entries = export_json("matmul.json", "github-action", "--metric", "time")
        self.assertEqual({e["name"] for e in entries}, {f"{device}/{name}" for name in self.names})

    def test_have_an_axis_in_nvbench(self):
        for benchmark in export_json("matmul.json", "nvbench")["benchmarks"]:
            axes = {axis["name"]: axis for axis in benchmark["axes"]}
            self.assertEqual([v["value"] for v in axes["Tokens"]["values"]], [1, 8, 64])
            for state in benchmark["states"]:
                self.assertIn("Tokens", {v["name"] for v in state["axis_values"]})

    def test_have_rows_of_their_own_in_markdown(self):
        text = export("matmul.json", "markdown")
        for tokens in (1, 8, 64):  # of the geometry and of the model
            self.assertEqual(text.count(f"| {tokens} | chain\\_cublas |"), 2)


class GoogleBenchmark(unittest.TestCase):
    def test_has_an_entry_a_sample(self):
        report = report_of("gpu.json")
        entries = export_json("gpu.json", "google-benchmark")["benchmarks"]
        for entry in entries:
            self.assertIn(entry["time_unit"], ("ns",))
            self.assertGreater(entry["real_time"], 0.0)
        found = [e["real_time"] for e in entries if e["run_type"] == "iteration"]
        wanted = [s for m in timed(report) for s in m["samples_s"]]
        self.assertEqual(len(found), len(wanted))
        for nanoseconds, seconds in zip(found, wanted):
            self.assertAlmostEqual(nanoseconds / 1e9 / seconds, 1.0, delta=4e-16)

    def test_names_what_has_no_time_in_the_context(self):
        context = export_json("gpu.json", "google-benchmark")["context"]
        for m in report_of("gpu.json")["measurements"]:
            if m["status"] != "passed":
                self.assertIn(m["reason"], context["nf4bench_not_timed"])

    @unless_there(COMPARE.exists(), "libbenchmark-tools")
    def test_is_judged_by_their_compare_script(self):
        document = export_json("gpu.json", "google-benchmark")
        slower = json.loads(json.dumps(document))
        for entry in slower["benchmarks"]:
            entry["real_time"] *= 2.0
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("old.json", "new.json")]
            for path, content in zip(paths, (document, slower)):
                pathlib.Path(path).write_text(json.dumps(content), encoding="utf-8")
            result = subprocess.run(["/usr/bin/python3", str(COMPARE), "benchmarks", *paths],
                                    capture_output=True, text=True, check=False)
        if "No module named" in result.stderr and "NF4BENCH_ALL_CONSUMERS" not in os.environ:
            self.skipTest(result.stderr.splitlines()[-1])
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line for line in result.stdout.splitlines() if "_median" in line]
        self.assertEqual(len(lines), len(timed(report_of("gpu.json"))), result.stdout)
        for line in lines:
            self.assertIn("+1.0000", line)


class Nvbench(unittest.TestCase):
    def test_has_every_row_as_a_state(self):
        report = report_of("gpu.json")
        document = export_json("gpu.json", "nvbench")
        states = {(b["name"], s["name"]): s for b in document["benchmarks"] for s in b["states"]}
        self.assertEqual(len(states), len(report["measurements"]))
        times = []
        for state in states.values():
            values = {s["tag"]: s["data"][0]["value"] for s in state["summaries"]}
            self.assertEqual(state["is_skipped"], not values)
            if values:
                times.append(float(values["nv/cold/time/gpu/median"]))
                self.assertGreater(float(values["nv/cold/time/gpu/stdev/relative"]), 0.0)
        self.assertEqual(sorted(times), sorted(m["time_s"]["median"] for m in timed(report)))

    @unittest.skipUnless("NVBENCH_COMPARE" in os.environ,
                         "needs the path of nvbench's nvbench_compare.py in NVBENCH_COMPARE")
    def test_is_matched_cell_by_cell_by_their_compare_script(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.json")
            path.write_text(export("gpu.json", "nvbench"), encoding="utf-8")
            result = subprocess.run(
                [sys.executable, os.environ["NVBENCH_COMPARE"], str(path), str(path)],
                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        rows = [line for line in result.stdout.splitlines() if "SAME" in line]
        self.assertEqual(len(rows), len(timed(report_of("gpu.json"))), result.stdout)

    def test_lists_each_value_of_an_axis(self):
        for benchmark in export_json("gpu.json", "nvbench")["benchmarks"]:
            axes = {a["name"]: [v["input_string"] for v in a["values"]] for a in benchmark["axes"]}
            for state in benchmark["states"]:
                for value in state["axis_values"]:
                    self.assertIn(value["value"], axes[value["name"]])


class Bencher(unittest.TestCase):
    def test_has_three_measures_with_their_intervals(self):
        report = report_of("gpu.json")
        document = export_json("gpu.json", "bencher")
        self.assertEqual(len(document), len(timed(report)))
        for measures, m in zip(document.values(), timed(report)):
            self.assertEqual(list(measures), ["latency", "throughput", "speedup"])
            self.assertAlmostEqual(measures["latency"]["value"] / 1e9, m["time_s"]["median"],
                                   delta=1e-20)
            self.assertEqual(measures["speedup"]["value"], m["speedup"]["ratio"])
            for measure in measures.values():
                self.assertLessEqual(measure["lower_value"], measure["value"])
                self.assertLessEqual(measure["value"], measure["upper_value"])


class GithubAction(unittest.TestCase):
    def test_gives_one_metric_a_file(self):
        report = timed(report_of("gpu.json"))
        wanted = {"time": [m["time_s"]["median"] for m in report],
                  "bandwidth": [m["bytes_per_s"] for m in report],
                  "speedup": [m["speedup"]["ratio"] for m in report]}
        for metric, values in wanted.items():
            entries = export_json("gpu.json", "github-action", "--metric", metric)
            self.assertEqual([e["value"] for e in entries], values)
            self.assertEqual(len({e["name"] for e in entries}), len(entries))
            for entry in entries:
                self.assertEqual(list(entry), ["name", "unit", "value", "range", "extra"])


class Reframe(unittest.TestCase):
    def test_has_a_line_for_each_cell_that_a_pattern_finds(self):
        report = timed(report_of("gpu.json"))
        wanted = {"time": ("s", [m["time_s"]["median"] for m in report]),
                  "bandwidth": ("bytes/s", [m["bytes_per_s"] for m in report]),
                  "speedup": ("x", [m["speedup"]["ratio"] for m in report])}
        for metric, (unit, values) in wanted.items():
            text = export("gpu.json", "reframe", "--metric", metric)
            found = re.findall(rf"^(dequantize/\S+)=(\S+) {unit}$", text, re.MULTILINE)
            self.assertEqual([float(value) for _, value in found], values)
            self.assertEqual(len({name for name, _ in found}), len(values))
            self.assertEqual(len(text.splitlines()), len(values) + 1)


class OpenMetrics(unittest.TestCase):
    @unless_there(PROMTOOL, "promtool (Debian: prometheus)")
    def test_pass_promtool(self):
        for name in ("gpu.json", "cpu.json", "matmul.json"):
            text = export(name, "openmetrics")
            for form, fits in ((text, True),
                               (text.replace("{", "[", 1), False)):
                check = subprocess.run([PROMTOOL, "check", "metrics"], input=form, text=True,
                                       capture_output=True, check=False)
                self.assertEqual(check.returncode == 0, fits, check.stdout + check.stderr)


class CommandLine(unittest.TestCase):
    def test_refuses_what_it_can_not_do(self):
        report = str(GOLDEN / "gpu.json")
        for words in (["--to", "exel"], ["--to", "csv", "--metric", "speedup"],
                      ["--to", "csv", "-o", report], []):
            result = subprocess.run([BINARY, "export", report, *words], capture_output=True,
                                    check=False)
            self.assertEqual(result.returncode, 2, words)
            self.assertEqual(result.stdout, b"")


if __name__ == "__main__":
    unittest.main()
