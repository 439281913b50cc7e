#!/usr/bin/env python3
"""Tests what merge writes against docs/fleet.schema.json. The argument is the program.

Every field that is written must be described, and every field that is described be written.
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
sys.path.insert(0, str(ROOT / "scripts"))
import jsonschema
import validate_report

SCHEMA = json.loads((ROOT / "docs/fleet.schema.json").read_text(encoding="utf-8"))
STRICT = jsonschema.Draft202012Validator(validate_report.strictened(SCHEMA))
LOOSE = jsonschema.Draft202012Validator(SCHEMA)


def objects_in(value):
    """Every object inside `value`, itself included."""
    if isinstance(value, dict):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_in(member)


class FleetSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Merges two whole reports, one twice, one of another driver, and a file that is none."""
        golden = json.loads((ROOT / "tests/report/golden/gpu.json").read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for i in range(4):
                report = copy.deepcopy(golden)
                report["device"]["uuid"] = f"GPU-{i % 3}"
                report["started_at"] = f"2026-03-01T00:00:0{i}Z"
                if i == 2:
                    report["device"]["driver"] = "1.0"
                (folder / f"{i}.json").write_text(json.dumps(report), encoding="utf-8")
            (folder / "none.json").write_text("{}", encoding="utf-8")
            (folder / "expected").write_text("node1 2\n", encoding="utf-8")
            result = subprocess.run([PROGRAM, "merge", name, "--expect", str(folder / "expected"), "-o", "-"],
                                    capture_output=True, text=True, check=False)
        assert result.returncode == 7, result.stderr
        cls.fleet = json.loads(result.stdout)

    def test_schema_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_describes_every_field_that_is_written(self):
        for field in ("refused", "replaced", "unread", "missing"):
            self.assertEqual(len(self.fleet[field]), 1, field)
        self.assertEqual([e.message for e in STRICT.iter_errors(self.fleet)], [])

    def test_every_field_is_wanted(self):
        for found in objects_in(self.fleet):
            for name in list(found):
                value = found.pop(name)
                self.assertFalse(LOOSE.is_valid(self.fleet), name)
                found[name] = value


if __name__ == "__main__":
    unittest.main()
