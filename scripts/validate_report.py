#!/usr/bin/env python3
"""Checks reports of nf4bench against docs/report.schema.json.

Prints one line for each file. Exit code: 0 when all are valid, 3 when one is not, 2 on wrong usage.
With --strict an unknown field is an error, too. Readers ignore unknown fields, because minor versions
add some; but what this version writes must have none.
"""

import argparse
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    sys.exit("validate_report.py needs jsonschema. On Debian or Ubuntu: "
             "apt-get install python3-jsonschema")

SCHEMA = pathlib.Path(__file__).resolve().parent.parent / "docs" / "report.schema.json"


def strictened(schema):
    """A copy of `schema` in which no object may have fields beyond those listed."""
    if isinstance(schema, list):
        return [strictened(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: strictened(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "required" in schema:
        copy["additionalProperties"] = False
    return copy


def refuse_constant(name):
    """Python reads NaN and Infinity; JSON has no such numbers."""
    raise ValueError(f"holds {name}, which is not JSON")


def path_of(error):
    """Where in the report the error is, as measurements[3].time_s."""
    path = ""
    for part in error.absolute_path:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.lstrip(".") or "the report"


def problems_of(text, validator):
    """What is wrong with the report `text`: a list of one-line sentences."""
    try:
        report = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        return [f"not JSON: {error}"]
    errors = sorted(validator.iter_errors(report), key=path_of)
    return [f"{path_of(error)}: {error.message[:200]}" for error in errors]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT", help="file, or - for standard input")
    parser.add_argument("--strict", action="store_true", help="refuse fields not in the schema")
    arguments = parser.parse_args()

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    if arguments.strict:
        schema = strictened(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    all_valid = True
    for name in arguments.reports:
        try:
            data = sys.stdin.buffer.read() if name == "-" else pathlib.Path(name).read_bytes()
            problems = problems_of(data.decode("utf-8"), validator)
        except (OSError, UnicodeDecodeError) as error:
            problems = [str(error)]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        print(f"{name}: INVALID: {problems[0]}{more}" if problems else f"{name}: valid")
        all_valid = all_valid and not problems
    return 0 if all_valid else 3


if __name__ == "__main__":
    sys.exit(main())
