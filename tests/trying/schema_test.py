#!/usr/bin/env python3
"""Holds docs/try.schema.json to a try that has everything: the tests in C++ hold the writer to it byte for byte."""

import copy
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import jsonschema
import validate_report

SCHEMA = json.loads((ROOT / "docs/try.schema.json").read_text(encoding="utf-8"))
LINE = (ROOT / "tests/trying/golden/try.json").read_text(encoding="utf-8")
STRICT = jsonschema.Draft202012Validator(validate_report.strictened(SCHEMA))


def target(node):
    node = node["anyOf"][0] if "anyOf" in node else node
    return SCHEMA["$defs"][node["$ref"].split("/")[-1]] if "$ref" in node else node


def missing(value, node=SCHEMA, path=""):
    """Paths of what the schema describes and `value` lacks, has as null, or has as an empty list."""
    if value in (None, []):
        return [path]
    if isinstance(value, list):
        return [each for item in value for each in missing(item, target(node).get("items", {}), path + "[]")]
    if not isinstance(value, dict):
        return []
    return [each for name, field in target(node)["properties"].items()
            for each in missing(value.get(name), field, f"{path}.{name}")]


class TrySchema(unittest.TestCase):
    def problems(self, line):
        return validate_report.problems_of(json.dumps(line), STRICT)

    def test_a_try_is_one_line(self):
        self.assertEqual(LINE.count("\n"), 1)

    def test_every_field_that_is_written_is_described(self):
        self.assertEqual(validate_report.problems_of(LINE, STRICT), [])

    def test_every_field_that_is_described_is_written(self):
        # The name of a kernel stands where there may be several of them.
        self.assertEqual(missing(json.loads(LINE)), [".cells[].kernel.name"])

    def test_what_is_not_known_is_null(self):
        for name in ("kernel", "first_wrong", "vs_last", "median_s", "max_error", "hint"):
            line = json.loads(LINE)
            line["cells"][0][name] = None
            self.assertEqual(self.problems(line), [], name)
        line = json.loads(LINE) | {"solution": None, "sanitizer": None, "last": None}
        self.assertEqual(self.problems(line), [])

    def test_an_unknown_field_is_found_wherever_it_is(self):
        def spoil(value):
            """Yields a copy of the line for each of its objects, with one field more there."""
            if isinstance(value, dict):
                value["unknown"] = 1
                yield
                del value["unknown"]
            for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
                yield from spoil(member)
        line, objects = json.loads(LINE), 0
        for _ in spoil(line):
            self.assertEqual(len(self.problems(copy.deepcopy(line))), 1, objects)
            objects += 1
        self.assertGreater(objects, 15)


if __name__ == "__main__":
    unittest.main()
