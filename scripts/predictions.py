#!/usr/bin/env python3
"""Puts what "nf4bench list cards" predicts into the pages, and beside it how far off such times are.

    scripts/predictions.py build/nf4bench            prints the tables
    scripts/predictions.py build/nf4bench --write    puts them into the pages
    scripts/predictions.py build/nf4bench --check    fails where a page has others

Errors are those against the reports in docs/results, and against what was published of Marlin, a kernel of the
same design with weights that are packed for it.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPORTS = ROOT / "docs/results/h200"
SHAPES = ["4096x4096", "8192x8192", "28672x8192"]
TOKENS = [1, 8, 16, 32, 64, 128, 256]

# Marlin's times over those of cuBLAS on 16-bit weights, N = K: group 128, in vLLM, as GemLite's charts have them (read
# from images/4bit_gs=128_NxN_CARD.svg of github.com/mobiusml/gemlite at 1a6815d0, to 0.02).
MARLIN_TOKENS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
MARLIN = {
    ("A100 80 GB", 4096): [1.85, 1.90, 1.90, 1.95, 1.95, 1.28, 0.85, 0.98, 1.00, 0.83],
    ("A100 80 GB", 8192): [2.49, 2.51, 2.49, 2.45, 2.45, 2.15, 1.55, 1.20, 0.88, 0.85],
    ("A100 80 GB", 16384): [2.86, 2.85, 2.91, 2.87, 2.94, 2.72, 1.93, 1.20, 0.83, 0.77],
    ("RTX 3090", 4096): [2.58, 2.47, 2.46, 2.45, 2.45, 1.58, 0.98, 0.99, 1.19, 1.16],
    ("RTX 3090", 8192): [3.30, 3.72, 3.76, 3.80, 3.86, 2.66, 1.92, 1.19, 1.19, 1.35],
    ("RTX 4090", 4096): [2.70, 2.80, 2.80, 2.80, 2.80, 1.93, 1.54, 1.51, 1.20, 0.98],
    ("RTX 4090", 8192): [2.89, 3.57, 3.57, 3.57, 3.59, 3.57, 3.21, 1.96, 1.16, 1.00],
}


def predict(binary, name, shapes, tokens, *more):
    """What "list cards" says, by (card, shape, tokens), without tokens of dequantization."""
    words = [binary, "list", "cards", name, "--json", "--tokens", ",".join(map(str, tokens)), *more]
    for shape in dict.fromkeys(shapes):
        words += ["--shape", shape]
    rows = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return {(row["card"], "x".join(map(str, row["shape"])), row["tokens"]): row for row in rows}


def medians(name, variant):
    """Yields the shape, the tokens and the median of each cell of `variant` in 16 bits, cold, from graphs."""
    report = json.loads((REPORTS / name).read_text(encoding="utf-8"))
    tensors = {tensor["id"]: "x".join(map(str, tensor["shape"])) for tensor in report["tensors"]}
    for m in report["measurements"]:
        usual = m["cache"] == "cold" and m["launch"] == "graph" and m["output_dtype"] != "float32"
        if usual and m["variant"] == variant and m["status"] == "passed":
            yield tensors[m["tensor"]], m["tokens"], m["time_s"]["median"]


def presets():
    """The same of `fused`, from the tables of all presets."""
    for name, columns in (("matmul-presets.csv", ["fused_us"]),
                          ("matmul-crossover.csv", ["wgmma_decode_us", "fused_cublas_us"])):
        with open(REPORTS / name, encoding="utf-8", newline="") as table:
            for row in csv.DictReader(table):
                least = min(float(row[column]) for column in columns)
                yield f"{row['outputs']}x{row['inputs']}", int(row["tokens"]), least * 1e-6


def compared(binary, measured, key, *more):
    """Predicted over measured, of each."""
    measured = list(measured)
    tokens = sorted({tokens for _, tokens, _ in measured if tokens}) or [1]
    rows = predict(binary, "H200", [shape for shape, _, _ in measured], tokens, *more)
    return [rows[("H200", shape, tokens)]["predicted"][key] / time for shape, tokens, time in measured]


def marlin_ratios(binary):
    """Speedups over 16-bit weights: published over predicted, so that more than 1 is a time that is too long."""
    for (card, size), published in MARLIN.items():
        rows = predict(binary, card, [f"{size}x{size}"], MARLIN_TOKENS)
        for tokens, speedup in zip(MARLIN_TOKENS, published):
            predicted = rows[(card, f"{size}x{size}", tokens)]["predicted"]
            yield card, tokens, speedup / (predicted["resident_s"] / predicted["time_s"])


def error_row(what, ratios):
    ratios = sorted(ratios)
    last = len(ratios) - 1
    percent = [f"{100 * (ratios[place] - 1):+.0f} %" for place in (0, round(0.05 * last), last // 2, round(0.95 * last), last)]
    return f"| {what} | {len(ratios)} | {' | '.join(percent)} |"


def error_table(binary):
    reports = ["geometries.json", "llama-3.1-8b.json", "llama-3.1-70b.json", "qwen3-32b.json"]
    products = ["matmul-large.json", "matmul-llama-3.1-8b.json"]
    decoded = [cell for name in reports for cell in medians(name, "fused")]
    resident = [cell for name in products for cell in medians(name, "cublas_resident")]
    older_fused = [cell for cell in medians("matmul-as80.json", "fused") if cell[1] <= 128]
    marlin = list(marlin_ratios(binary))
    rows = [
        error_row("dequantization, H200", compared(binary, decoded, "time_s")),
        error_row("`fused`, products of all presets, H200", compared(binary, presets(), "time_s")),
        error_row("cuBLAS on 16-bit weights, H200", compared(binary, resident, "resident_s")),
        error_row("`fused` up to 128 tokens, code of 8.0 on an H200",
                  compared(binary, older_fused, "time_s", "--compute-capability", "80")),
    ]
    for card in dict.fromkeys(card for card, _, _ in marlin):
        rows.append(error_row(f"Marlin's speedup with 1 to 64 tokens, {card}",
                              [ratio for at, tokens, ratio in marlin if at == card and tokens <= 64]))
        rows.append(error_row(f"the same with 128 to 512, {card}",
                              [ratio for at, tokens, ratio in marlin if at == card and tokens > 64]))
    head = "| what, and where it was measured | cells | least | 5 % | median | 95 % | most |\n" \
           "| --- | --- | --- | --- | --- | --- | --- |\n"
    return head + "\n".join(rows) + "\n"


def about(seconds):
    """As "list cards" prints it: two digits, in italics."""
    us = seconds * 1e6
    if us >= 995:
        return f"*~{us / 1e3:.1f} ms*" if us < 9950 else f"*~{us / 1e3:.0f} ms*"
    return f"*~{round(us / 10) * 10}*" if us >= 99.5 else f"*~{us:.0f}*" if us >= 9.95 else f"*~{us:.1f}*"


KERNELS = {"mma_linear": "l", "wgmma_decode": "w", "mma_ring": "r", "gemv_shuffle": "g", "mma_table": "t", "decode_cublas": "d"}


def card_tables(binary):
    rows = predict(binary, "", SHAPES, TOKENS)
    text = ""
    for shape in SHAPES:
        text += f"| {shape} | decode | " + " | ".join(f"M={tokens}" for tokens in TOKENS) + " |\n"
        text += "| --- " * (len(TOKENS) + 2) + "|\n"
        for card in dict.fromkeys(card for card, _, _ in rows):
            cells = [rows[(card, shape, tokens)] for tokens in [None, *TOKENS]]
            texts = [about(cell["predicted"]["time_s"]) + (" " + KERNELS[cell["kernel"]] if cell["tokens"] else "") +
                     f" {100 * cell['predicted']['fraction_of_roof']:.0f}%" for cell in cells]
            text += f"| {card} | " + " | ".join(texts) + " |\n"
        text += "\n"
    return text.rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    stale = 0
    for page, name, table in ((ROOT / "docs/kernels.md", "errors", error_table(arguments.binary)),
                              (ROOT / "docs/results/predicted.md", "cards", card_tables(arguments.binary))):
        if not arguments.write and not arguments.check:
            print(table)
            continue
        text = page.read_text(encoding="utf-8")
        begin, end = f"<!-- {name}: scripts/predictions.py -->\n\n", f"\n<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        held, _, after = rest.partition(end)
        if not after:
            sys.exit(f"predictions: {page} has no place for the table of {name}")
        if arguments.write:
            page.write_text(before + begin + table + end + after, encoding="utf-8")
        elif held != table:
            print(f"predictions: {page.relative_to(ROOT)} is out of date; "
                  f"scripts/predictions.py {arguments.binary} --write puts it right", file=sys.stderr)
            stale += 1
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
