#!/usr/bin/env python3
"""Prints the words of a report for libFuzzer: its schema's, and what other readers would act on."""

import json
from pathlib import Path

SCHEMA = Path(__file__).resolve().parents[2] / "docs/report.schema.json"
OTHERS = ['"1.9.9"', "null", "true", "false", "1e308", "1e-308", "9223372036854775807", "=1+1", "@SUM(A1)", "\x1b[2J",
          "\\u202e", "\\u009b"]


def words_in(node):
    """The names of fields, and what fields may say, inside a schema."""
    if isinstance(node, dict):
        for word in [*node.get("properties", {}), *node.get("enum", [])]:
            if isinstance(word, str):
                yield json.dumps(word)
        node = node.values()
    elif not isinstance(node, list):
        return
    for member in node:
        yield from words_in(member)


words = dict.fromkeys(words_in(json.loads(SCHEMA.read_text(encoding="utf-8"))))
for word in [*words, *OTHERS]:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\x1b", "\\x1b")
    print(f'"{escaped}"')
