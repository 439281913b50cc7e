#!/usr/bin/env python3
"""Tests what merge writes against docs/fleet.schema.json, and what fleet prints of it against
docs/ranking.schema.json. The argument is the program.

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


# Missing in files of before they were kept.
LATER = (("fleet", "other_processes"), ("fleet", "failure"), ("fleet", "stack"))


def schema(name):
    return json.loads((ROOT / f"docs/{name}.schema.json").read_text(encoding="utf-8"))


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
            merged = subprocess.run([PROGRAM, "merge", name, "--expect", str(folder / "expected"), "-o",
                                     str(folder / "fleet.json")], capture_output=True, text=True, check=False)
            assert merged.returncode == 7, merged.stderr
            ranked = subprocess.run([PROGRAM, "fleet", str(folder / "fleet.json"), "--gate", "--json"],
                                    capture_output=True, text=True, check=False)
            assert ranked.returncode == 1, ranked.stderr
            cls.documents = {"fleet": json.loads((folder / "fleet.json").read_text(encoding="utf-8")),
                             "ranking": json.loads(ranked.stdout)}

    def test_schemas_are_schemas(self):
        for name in self.documents:
            jsonschema.Draft202012Validator.check_schema(schema(name))

    def test_describe_every_field_that_is_written(self):
        for name, document in self.documents.items():
            for field in ("refused", "replaced", "unread", "missing"):
                self.assertEqual(len(document[field]), 1, field)
            strict = jsonschema.Draft202012Validator(validate_report.strictened(schema(name)))
            self.assertEqual([e.message for e in strict.iter_errors(document)], [])

    def test_every_field_is_wanted(self):
        for name, document in self.documents.items():
            loose = jsonschema.Draft202012Validator(schema(name))
            for found in objects_in(document):
                for field in list(found):
                    value = found.pop(field)
                    self.assertEqual(loose.is_valid(document), (name, field) in LATER, field)
                    found[field] = value


if __name__ == "__main__":
    unittest.main()
