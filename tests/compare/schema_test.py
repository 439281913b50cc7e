#!/usr/bin/env python3
"""Tests what compare and history print as JSON against docs/comparison.schema.json and
docs/history.schema.json. The argument is the program.

Every field that is printed must be described, and every field that is described be printed.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)

sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/page")]
import jsonschema
import pages
import validate_report


def schema(name):
    return json.loads((ROOT / "docs" / f"{name}.schema.json").read_text(encoding="utf-8"))


def validator(name):
    return jsonschema.Draft202012Validator(validate_report.strictened(schema(name)))


def golden_report(minute, factor=1.0):
    """The golden report of a GPU as another run would have written it, `factor` times slower."""
    report = json.loads((ROOT / "tests/report/golden/gpu.json").read_text(encoding="utf-8"))
    report["started_at"] = f"2026-03-04T06:{minute:02}:00Z"
    for row in report["measurements"]:
        pages.slow_down(row, factor)
    return report


class Schemas(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, report):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(json.dumps(report), encoding="utf-8")
        return str(path)

    def run_program(self, *arguments):
        result = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
        return result.returncode, json.loads(result.stdout)

    def test_schemas_are_schemas(self):
        for name in ("comparison", "history"):
            jsonschema.Draft202012Validator.check_schema(schema(name))

    def test_comparison_with_a_gate(self):
        fresh = golden_report(2, 1.5)
        del fresh["measurements"][0]
        fresh["measurements"].append(copy.deepcopy(fresh["measurements"][-1]))
        fresh["measurements"][-1].update(variant="brand_new", status="passed")
        code, result = self.run_program("compare", self.write("a.json", golden_report(1)),
                                        self.write("b.json", fresh), "--gate", "--json")
        self.assertEqual(code, 1)
        validator("comparison").validate(result)
        self.assertGreater(result["counts"]["SLOWER"], 0)
        self.assertEqual(result["counts"]["MISSING"], 1)
        self.assertGreater(result["counts"]["INVALID"], 0)
        self.assertEqual(len(result["new_cells"]), 1)

    def test_comparison_that_is_refused(self):
        other = golden_report(2)
        other["device"]["driver"] = "570.86"
        code, result = self.run_program("compare", self.write("a.json", golden_report(1)),
                                        self.write("b.json", other), "--json")
        self.assertEqual(code, 7)
        validator("comparison").validate(result)
        self.assertFalse(result["comparable"])

    def test_history(self):
        for minute in range(8):
            self.write(f"{minute}.json", golden_report(minute, 1.0 if minute < 4 else 1.1))
        code, result = self.run_program("history", self.folder.name, "--json")
        self.assertEqual(code, 0)
        validator("history").validate(result)
        self.assertTrue(all(series["steps"] for series in result["devices"][0]["series"]))

    def test_an_unknown_field_would_be_found(self):
        _, result = self.run_program("compare", self.write("a.json", golden_report(1)),
                                     self.write("b.json", golden_report(2)), "--json")
        result["cells"][0]["surprise"] = 1
        with self.assertRaises(jsonschema.ValidationError):
            validator("comparison").validate(result)


if __name__ == "__main__":
    unittest.main()
