#!/usr/bin/env python3
"""Tests docs/report.schema.json and scripts/validate_report.py on the golden reports.

The golden reports are what the writer writes: the tests in C++ hold it to them byte for byte.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / "tests/report/golden").glob("*.json"))
SCRIPT = ROOT / "scripts/validate_report.py"

sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPT.parent))
import jsonschema
import validate_report

SCHEMA = json.loads(validate_report.SCHEMA.read_text(encoding="utf-8"))
LOOSE = jsonschema.Draft202012Validator(SCHEMA)
STRICT = jsonschema.Draft202012Validator(validate_report.strictened(SCHEMA))
UNIT = re.compile(r"\b(s|Hz|W|J|bytes/s|seconds a call|degrees Celsius|no unit|in the unit of the value)"
                  r"[,.;:]")


def is_later_field(field):
    if "$ref" in field and "description" not in field:
        field = SCHEMA["$defs"][field["$ref"].split("/")[-1]]
    return "missing in older reports" in field.get("description", "")


def fields_of(node):
    """Name and schema of each field of the object that `node` describes; none for what is no object."""
    return target(node).get("properties", {}).items()


def target(node):
    node = node["anyOf"][0] if "anyOf" in node else node
    return SCHEMA["$defs"][node["$ref"].split("/")[-1]] if "$ref" in node else node


def without_later(value, node=SCHEMA):
    """`value` without the fields that older reports lack."""
    if isinstance(value, list):
        return [without_later(each, target(node)["items"]) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: without_later(value[name], field) for name, field in fields_of(node)
            if name in value and not is_later_field(field)}


def missing(value, node=SCHEMA, path=""):
    """Paths of fields of the schema that `value` lacks."""
    if isinstance(value, list):
        return [each for item in value for each in missing(item, target(node).get("items", {}), path + "[]")]
    if not isinstance(value, dict):
        return []
    return [each for name, field in fields_of(node)
            for each in (missing(value[name], field, f"{path}.{name}") if name in value else [f"{path}.{name}"])]


def gpu_report():
    return json.loads((ROOT / "tests/report/golden/gpu.json").read_text(encoding="utf-8"))


def small_report():
    """A report with every kind of object and little else, so that many variations take no time."""
    report = gpu_report()
    report["tensors"] = report["tensors"][:1]
    report["measurements"] = [report["measurements"][0], report["measurements"][3]]
    report["ceilings"]["stream"] = report["ceilings"]["stream"][:1]
    report["summary"]["variants"] = report["summary"]["variants"][:1]
    report["variants"] = report["variants"][:1]
    return report


def objects_in(value):
    """Every object inside `value`, itself included."""
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from objects_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from objects_in(member)


def sample_objects(report):
    """One object of each kind that a report holds."""
    seen = set()
    for found in objects_in(report):
        kind = tuple(sorted(found))
        if kind not in seen:
            seen.add(kind)
            yield found


def run_script(*arguments, **options):
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True,
                          check=False, **options)


class GoldenReports(unittest.TestCase):
    def test_are_there(self):
        self.assertEqual([path.name for path in GOLDEN], ["cpu.json", "empty.json", "gpu.json", "matmul.json"])

    def test_are_valid_and_have_no_unknown_field(self):
        for path in GOLDEN:
            text = path.read_text(encoding="utf-8")
            self.assertEqual(validate_report.problems_of(text, STRICT), [], path.name)

    def test_have_every_field_of_the_schema(self):
        # What is unknown is null, never missing, but for what stands for samples that were left out, what
        # only wrong outputs have, and counters that nobody asked for.
        rare = {".measurements[].sample_digest", ".measurements[].verification.first_wrong",
                ".measurements[].verification.fault", ".measurements[].counters"}
        for path in GOLDEN:
            report = json.loads(path.read_text(encoding="utf-8"))
            self.assertLessEqual(set(missing(report)), rare, path.name)

    def test_are_valid_without_later_fields(self):
        for path in GOLDEN:
            report = without_later(json.loads(path.read_text(encoding="utf-8")))
            self.assertNotIn("variants", report)
            self.assertEqual(validate_report.problems_of(json.dumps(report), STRICT), [], path.name)


class Summary(unittest.TestCase):
    """The arithmetic of the summary, done again by Python."""

    def setUp(self):
        self.report = gpu_report()
        self.counts = {t["id"]: t["multiplicity"] for t in self.report["tensors"]}

    def rows(self, cell, variant):
        """The rows of `variant` in the cell of the summary's entry `cell`."""
        keys = ("operation", "output_dtype", "tokens", "cache", "launch")
        return [m for m in self.report["measurements"]
                if m["variant"] == variant and all(m[key] == cell[key] for key in keys)]

    def test_speedups_follow_from_the_measurements(self):
        for entry in self.report["summary"]["variants"]:
            passed = [m for m in self.rows(entry, entry["variant"]) if m["status"] == "passed"]
            self.assertEqual(entry["cells"], len(passed))
            ratios = [m["speedup"]["ratio"] for m in passed]
            if not ratios:
                self.assertIsNone(entry["speedup"])
                continue
            self.assertAlmostEqual(entry["speedup"]["geomean"], statistics.geometric_mean(ratios))
            self.assertEqual(entry["speedup"]["min"], min(ratios))
            self.assertEqual(entry["speedup"]["max"], max(ratios))

    def test_model_times_follow_from_the_measurements(self):
        known = 0
        for entry in self.report["summary"]["variants"]:
            rows = self.rows(entry, entry["variant"])
            if any(m["status"] != "passed" for m in rows):
                self.assertIsNone(entry["model_time_s"])
                continue
            known += 1
            total = sum(m["time_s"]["median"] * self.counts[m["tensor"]] for m in rows)
            base = sum(m["time_s"]["median"] * self.counts[m["tensor"]]
                       for m in self.rows(entry, "multi_kernel"))
            self.assertAlmostEqual(entry["model_time_s"], total, delta=1e-15)
            self.assertAlmostEqual(entry["model_speedup"], base / total)
        self.assertEqual(known, 5)


class MatrixProducts(unittest.TestCase):
    """What follows from the times of a run of matmul, worked out again."""

    def setUp(self):
        self.report = json.loads((ROOT / "tests/report/golden/matmul.json").read_text("utf-8"))
        self.shapes = {t["id"]: t["shape"] for t in self.report["tensors"]}

    def test_flops_and_roofs_follow_from_the_shapes(self):
        limits = set()
        for row in self.report["measurements"]:
            outputs, inputs = self.shapes[row["tensor"]]
            self.assertEqual(row["flops"], 2 * row["tokens"] * outputs * inputs)
            if row["status"] != "passed":
                self.assertIsNone(row["fraction_of_roof"])
                continue
            ceilings = self.report["ceilings"]
            times = {"memory": sum(row["bytes"].values()) / ceilings["copy_bytes_per_s"],
                     "compute": row["flops"] / ceilings["flops_per_s"][row["output_dtype"]]}
            self.assertEqual(row["roof_limit"], max(times, key=times.get))
            self.assertAlmostEqual(row["fraction_of_roof"],
                                   max(times.values()) / row["time_s"]["median"])
            limits.add(row["roof_limit"])
        self.assertEqual(limits, {"memory", "compute"})

    def test_token_rates_follow_from_the_times_of_the_model(self):
        known = 0
        for entry in self.report["summary"]["variants"]:
            if entry["model_time_s"] is None:
                self.assertIsNone(entry["tokens_per_s"])
                continue
            known += 1
            self.assertAlmostEqual(entry["tokens_per_s"], entry["tokens"] / entry["model_time_s"])
        self.assertEqual(known, 11)

    def test_crossovers_name_the_fastest(self):
        for entry in self.report["summary"]["crossover"]:
            for stretch in entry["fastest"]:
                for tokens in (stretch["first"], stretch["last"]):
                    rows = [m for m in self.report["measurements"]
                            if m["tensor"] == entry["tensor"] and m["tokens"] == tokens
                            and m["time_s"] and not m["reference_line"]]
                    fastest = min(rows, key=lambda m: m["time_s"]["median"])
                    self.assertEqual(stretch["variant"], fastest["variant"])
        self.assertEqual([len(e["fastest"]) for e in self.report["summary"]["crossover"]], [2])


class Schema(unittest.TestCase):
    def test_describes_every_field(self):
        for part in objects_in(SCHEMA):
            if isinstance(part.get("properties"), dict) and "required" in part:
                for name, field in part["properties"].items():
                    self.assertGreater(len((field if "description" in field else target(field))["description"]), 4,
                                       name)

    def test_states_the_unit_of_every_number(self):
        for part in objects_in(SCHEMA):
            types = part.get("type")
            if "number" in (types if isinstance(types, list) else [types]):
                self.assertRegex(part["description"], UNIT)

    def test_states_the_unit_of_every_size(self):
        sizes = 0
        for part in objects_in(SCHEMA):
            for name, field in part.get("properties", {}).items():
                if name.endswith("_bytes") or name in ("read", "written"):
                    sizes += 1
                    self.assertRegex(field["description"], r"\b[Bb]ytes\b")
        self.assertEqual(sizes, 8)

    def test_lets_minor_versions_add_fields(self):
        report = gpu_report()
        report["schema_version"] = "1.7.0"
        for found in list(sample_objects(report)):
            found["added_later"] = {"any": ["thing"]}
        self.assertTrue(LOOSE.is_valid(report))
        self.assertFalse(STRICT.is_valid(report))

    def test_refuses_other_major_versions(self):
        for version in ("2.0.0", "10.0.0", "1", "1.0", 1):
            report = gpu_report()
            report["schema_version"] = version
            self.assertFalse(LOOSE.is_valid(report), version)

    def test_refuses_every_missing_field(self):
        report = without_later(small_report())
        for found in sample_objects(report):
            for name in list(found):
                value = found.pop(name)
                self.assertFalse(LOOSE.is_valid(report), name)
                found[name] = value
        self.assertTrue(LOOSE.is_valid(report))

    def test_takes_a_digest_in_place_of_samples(self):
        report = small_report()
        row = report["measurements"][0]
        row["samples_s"] = row["sm_clock_hz"] = []
        row["sample_digest"] = {"count": 7, "log_error": 0.002, "mean_clock_hz": 1.9e9, "median_clock_hz": None}
        self.assertTrue(STRICT.is_valid(report))
        for name in list(row["sample_digest"]):
            value = row["sample_digest"].pop(name)
            self.assertFalse(LOOSE.is_valid(report), name)
            row["sample_digest"][name] = value

    def test_refuses_every_misspelt_field_when_strict(self):
        report = small_report()
        for found in sample_objects(report):
            for name in list(found):
                found[name + "_"] = found[name]
                self.assertFalse(STRICT.is_valid(report), name)
                del found[name + "_"]

    def test_refuses_every_wrong_type(self):
        report = small_report()
        for found in sample_objects(report):
            for name in list(found):
                value = found[name]
                found[name] = {} if not isinstance(value, dict) else "text"
                self.assertFalse(LOOSE.is_valid(report), name)
                found[name] = value

    def test_refuses_nan(self):
        text = json.dumps(gpu_report()).replace("4284000000000", "NaN")
        self.assertIn("NaN", text)
        self.assertIn("NaN", validate_report.problems_of(text, LOOSE)[0])


class Script(unittest.TestCase):
    def test_prints_one_line_a_valid_file(self):
        result = run_script("--strict", *map(str, GOLDEN))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "".join(f"{path}: valid\n" for path in GOLDEN))

    def test_names_what_is_wrong_and_fails(self):
        report = gpu_report()
        report["measurements"][2]["time_s"]["median"] = "fast"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bad.json"
            path.write_text(json.dumps(report), encoding="utf-8")
            result = run_script(str(GOLDEN[0]), str(path))
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stdout.count("\n"), 2)
        self.assertIn("INVALID: measurements[2].time_s.median: 'fast' is not of type 'number'",
                      result.stdout)

    def test_reads_standard_input(self):
        text = GOLDEN[0].read_text(encoding="utf-8")
        self.assertEqual(run_script("-", input=text).stdout, "-: valid\n")

    def test_survives_what_is_no_report(self):
        for text in ("", "[]", "[" * 100000, '{"schema": NaN}', "null"):
            result = run_script("-", input=text)
            self.assertEqual(result.returncode, 3, text[:20])
            self.assertEqual(result.stdout.count("\n"), 1)
        self.assertEqual(run_script("/no/such/file").returncode, 3)
        self.assertEqual(run_script().returncode, 2)


if __name__ == "__main__":
    unittest.main()
