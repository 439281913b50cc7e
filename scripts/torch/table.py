#!/usr/bin/env python3
"""Prints what a file of end_to_end.py, host_time.py or acceptance.py holds, as tables in Markdown.

  table.py FILE [--intervals]

Imports nothing but Python's own library, so that documents can be checked without PyTorch.
"""

import argparse
import json
import pathlib

KINDS = {"decode": "decoding of NF4 weights", "forward": "products with NF4 weights, forward",
         "recompute": "the same, computed again", "backward": "the same, gradients of tokens",
         "lora": "products of LoRA", "head": "products with the 16-bit head", "attention": "attention",
         "optimizer": "the optimizer", "rest": "norms, activations, loss, sums and copies"}
# Of each part: what is shown, its name, and whether more of it is better.
SHOWN = {"layers": [("graph_ms", "linear layers of a step, CUDA graph, ms", False),
                    ("eager_us_a_layer", "the same, eager, us a layer", False)],
         "step": [("ms", "a whole step, static cache, CUDA graph, ms", False)],
         "compiled": [("tokens_per_second", "compiled by torch.compile, tokens/s", True)],
         "generate": [("tokens_per_second", "`generate`, eager, tokens/s", True)],
         "prefill": [("ms", "prefill of 2,048 tokens, eager, ms", False)],
         "serving": [("tokens_per_second", "served together, eager, tokens/s", True)],
         "serving_graphs": [("tokens_per_second", "served together, CUDA graphs, tokens/s", True)],
         "training": [("ms", "a step of QLoRA training, sequences of 1,024 tokens, ms", False)],
         "trace": [("ms", "a step of QLoRA training, ms", False), ("busy_ms", "of it with a kernel on the GPU", False),
                   *((f"{kind}_ms", what, False) for kind, what in KINDS.items()),
                   ("idle_ms", "idle", False)]}


def median(value):
    return value["median"] if isinstance(value, dict) else value


def shown(value, intervals=False):
    def digits(number):
        return f"{number:,.{0 if number >= 1000 else 1 if number >= 100 else 2}f}"
    if intervals and isinstance(value, dict):
        return f"{digits(value['median'])} [{digits(value['low'])}, {digits(value['high'])}]"
    return digits(median(value))


def row(cells):
    return f"| {' | '.join(cells)} |"


def header(what, numbers):
    return row([what, *numbers]) + "\n| --- |" + " ---: |" * len(numbers)


def compared(theirs, ours, is_rate=False, intervals=False):
    faster, slower = (median(each) for each in ((ours, theirs) if is_rate else (theirs, ours)))
    return [shown(theirs, intervals), shown(ours, intervals), f"{faster / slower:.2f}x" if slower else "-"]


def rows(part, batch, result, intervals=False):
    """Yields rows of a Markdown table: bitsandbytes' own code, the drop-in, and how many times as fast."""
    for field, what, is_rate in SHOWN[part]:
        each = result[field]
        yield row([what, batch, *compared(each["bitsandbytes"], each["nf4bench"], is_rate, intervals)])


def of_end_to_end(whole, intervals):
    parts, version = whole["parts"], whole["machine"]["bitsandbytes"]
    if set(parts) - {"trace"}:
        yield header("what", ["batch", f"bitsandbytes {version}", "with the drop-in", "ratio"])
        for part in SHOWN:
            if part in parts and part != "trace":
                for found in zip(*(rows(part, *each, intervals) for each in parts[part].items())):
                    yield from found
    if "trace" in parts:
        yield header(f"ms: bitsandbytes {version}; with the drop-in", parts["trace"])
        for field, what, _ in SHOWN["trace"]:
            pairs = ([shown(each[field][who]) for who in ("bitsandbytes", "nf4bench")]
                     for each in parts["trace"].values())
            yield row([what, *map("; ".join, pairs)])


def of_host_time(whole, intervals):
    """A table for each pair that is compared, in the order in which the pairs are first met."""
    pairs = {}
    for what, each in whole["host_time_us"].items():
        if len(each) == 2:
            pairs.setdefault(tuple(each), []).append(row([what, *compared(*each.values(), intervals=intervals)]))
    for (theirs, ours), found in pairs.items():
        yield header("us", [theirs, ours, "ratio"]) + "\n" + "\n".join(found) + "\n"


def of_acceptance(whole, intervals):
    yield header("tests", ["files", "passed, failed without", "with the drop-in", "lost"])
    for what, each in whole.items():
        if "lost" in each:
            counts = (f"{count['passed']:,}, {count['failed']:,}" for count in list(each.values())[:2])
            yield row([what, str(len(each["files"])) if "files" in each else "-", *counts, str(len(each["lost"]))])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--intervals", action="store_true", help="behind each median")
    options = parser.parse_args()
    whole = json.loads(options.file.read_text(encoding="utf-8"))
    kind = of_end_to_end if "parts" in whole else of_host_time if "host_time_us" in whole else of_acceptance
    print(*kind(whole, options.intervals), sep="\n")


if __name__ == "__main__":
    main()
