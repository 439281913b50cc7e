#!/usr/bin/env python3
"""Tests docs/doctor.schema.json on the golden diagnoses.

These are what the program writes: the tests in C++ hold it to them byte for byte.
"""

import copy
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / "tests/doctor/golden").glob("*.json"))

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import jsonschema
import validate_report

SCHEMA = json.loads((ROOT / "docs/doctor.schema.json").read_text(encoding="utf-8"))
LOOSE = jsonschema.Draft202012Validator(SCHEMA)
STRICT = jsonschema.Draft202012Validator(validate_report.strictened(SCHEMA))


def golden(name):
    return json.loads((ROOT / "tests/doctor/golden" / name).read_text(encoding="utf-8"))


def objects_in(value):
    """Every object inside `value`, itself included."""
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from objects_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from objects_in(member)


class Schema(unittest.TestCase):
    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_accepts_what_is_written_and_knows_every_field(self):
        self.assertEqual([path.name for path in GOLDEN],
                         ["ailing_cpu.json", "ailing_gpu.json", "sound_gpu.json"])
        for path in GOLDEN:
            text = path.read_text(encoding="utf-8")
            self.assertEqual(validate_report.problems_of(text, STRICT), [], path.name)

    def test_requires_and_describes_every_field(self):
        fields = 0
        for part in objects_in(SCHEMA):
            if isinstance(part.get("properties"), dict) and "required" in part:
                self.assertEqual(part["required"], list(part["properties"]))
                for name, field in part["properties"].items():
                    fields += 1
                    self.assertGreater(len(field.get("description", "")), 4, name)
        self.assertGreater(fields, 35)

    def test_names_every_check(self):
        named = next(part["properties"]["check"]["description"] for part in objects_in(SCHEMA)
                     if "check" in part.get("properties", {}))
        named = set(named.split(": ")[1].rstrip(".").split(", "))
        seen = {finding["check"] for path in GOLDEN
                for finding in json.loads(path.read_text(encoding="utf-8"))["findings"]}
        self.assertEqual(named - seen, {"management", "device", "wsl"})  # of machines that no file is of
        self.assertEqual(seen - named, set())

    def test_refuses_every_missing_field_and_every_wrong_type(self):
        diagnosis = golden("ailing_gpu.json")
        for found in list(objects_in(diagnosis)):
            for name in list(found):
                value = found.pop(name)
                self.assertFalse(LOOSE.is_valid(diagnosis), name)
                found[name] = {} if not isinstance(value, dict) else "text"
                self.assertFalse(LOOSE.is_valid(diagnosis), name)
                found[name] = value
        self.assertTrue(LOOSE.is_valid(diagnosis))

    def test_lets_minor_versions_add_fields_and_checks(self):
        diagnosis = golden("ailing_gpu.json")
        diagnosis["schema_version"] = "1.9.0"
        diagnosis["findings"].append(copy.deepcopy(diagnosis["findings"][0]))
        diagnosis["findings"][-1].update(check="phase_of_the_moon", added_later=1)
        self.assertTrue(LOOSE.is_valid(diagnosis))
        self.assertFalse(STRICT.is_valid(diagnosis))
        diagnosis["schema_version"] = "2.0.0"
        self.assertFalse(LOOSE.is_valid(diagnosis))

    def test_knows_no_other_severity_or_verdict(self):
        for change in ({"verdict": "healthy"}, {"findings": []}):
            self.assertFalse(LOOSE.is_valid(golden("ailing_gpu.json") | change))
        diagnosis = golden("ailing_gpu.json")
        diagnosis["findings"][0]["severity"] = "fatal"
        self.assertFalse(LOOSE.is_valid(diagnosis))


class Verdicts(unittest.TestCase):
    def test_follow_from_the_worst_finding(self):
        order = ["ok", "note", "warning", "worthless"]
        words = ["fit", "fit", "doubtful", "worthless"]
        for path in GOLDEN:
            diagnosis = json.loads(path.read_text(encoding="utf-8"))
            ranks = [order.index(finding["severity"]) for finding in diagnosis["findings"]]
            self.assertEqual(ranks, sorted(ranks, reverse=True), path.name)
            self.assertEqual(diagnosis["verdict"], words[ranks[0]], path.name)


if __name__ == "__main__":
    unittest.main()
