#!/usr/bin/env python3
"""Prints Markdown tables of reports, with a row for each geometry: a variant, the baseline, the ceilings.

    scripts/results_table.py REPORT... [--variant fused] [--dtype bfloat16] [--launch graph,spaced]
    scripts/results_table.py --models REPORT...
    scripts/results_table.py --tokens REPORT... [--variant fused,chain_cublas]
    scripts/results_table.py --claims REPORT
    scripts/results_table.py --end-to-end FILE_OF_SCRIPTS_TORCH_END_TO_END
"""

import argparse
import json
import statistics
import sys

LAUNCHES = ["graph", "spaced", "stream"]


def micro(seconds):
    """Seconds as microseconds with four significant digits."""
    value = seconds * 1e6
    digits = 0 if value >= 1000 else 1 if value >= 100 else 2
    return f"{value:,.{digits}f}"


def geometry_rows(report, variant):
    """Yields its geometry, output type, launch mode and table row for each cell of `variant` that passed."""
    tensors = {tensor["id"]: tensor for tensor in report["tensors"]}
    stream = {(c["tensor"], c["output_dtype"], c["cache"], c["launch"]): c for c in report["ceilings"]["stream"]}
    cells = {}
    for m in report["measurements"]:
        cells[(m["tensor"], m["output_dtype"], m["cache"], m["launch"], m["variant"])] = m
    for key, m in cells.items():
        if key[4] != variant or m["status"] != "passed" or not m["speedup"]:
            continue
        base = cells.get(key[:4] + (m["speedup"]["baseline"],))
        tensor = tensors[m["tensor"]]
        shape = "x".join(map(str, tensor["shape"]))
        kind = "nested" if tensor["nested"] else "plain"
        best = stream.get(key[:4])
        yield (shape, kind, tensor["blocksize"]), m["output_dtype"], m["launch"], [
            shape,
            f"{kind}/{tensor['blocksize']}",
            m["output_dtype"],
            f"{m['cache']} {m['launch']}",
            micro(base["time_s"]["median"]),
            micro(m["time_s"]["median"]),
            f"{m['speedup']['ratio']:.2f}x",
            f"{m['bytes_per_s'] / 1e9:,.0f}",
            f"{100 * m['fraction_of_copy']:.1f}",
            f"{100 * best['median_s'] / m['time_s']['median']:.1f}" if best else "",
        ]


def in_order(rows, dtypes, launches):
    """The table rows of the wanted types and modes. All modes of a geometry and type stand together."""
    rows = [row for row in rows if (not dtypes or row[1] in dtypes) and (not launches or row[2] in launches)]
    places = {}
    for geometry, dtype, _, _ in rows:
        places.setdefault((geometry, dtype), len(places))
    rows.sort(key=lambda row: (places[row[:2]], LAUNCHES.index(row[2])))
    return [row[3] for row in rows]


def model_rows(report):
    """Yields a row for each variant's time over the whole model, with its tokens where there are any."""
    for row in report["summary"]["variants"]:
        if row["model_time_s"]:
            speedup = f"{row['model_speedup']:.2f}x" if row["model_speedup"] else ""
            tokens = [f"{row['tokens']}"] if row.get("tokens") else []
            rate = [f"{row['tokens_per_s']:,.0f}"] if row.get("tokens_per_s") else []
            yield [row["variant"], row["output_dtype"], f"{row['cache']} {row['launch']}", *tokens,
                   f"{row['model_time_s'] * 1e3:.3f}", *rate, speedup]


def token_tables(report, variants):
    """Yields a title, a head and the rows for each output type and mode: microseconds by variant and tokens."""
    tensors = {tensor["id"]: tensor for tensor in report["tensors"]}
    products = [m for m in report["measurements"] if m.get("tokens") and m["variant"] in (variants or [m["variant"]])]
    tokens = sorted({m["tokens"] for m in products})
    for mode in dict.fromkeys((m["output_dtype"], m["cache"], m["launch"]) for m in products):
        rows = {}
        for m in products:
            if (m["output_dtype"], m["cache"], m["launch"]) != mode:
                continue
            key = ("x".join(map(str, tensors[m["tensor"]]["shape"])), m["variant"])
            cell = micro(m["time_s"]["median"]) if m["status"] == "passed" else m["status"]
            rows.setdefault(key, {})[m["tokens"]] = "" if cell == "skipped" else cell
        rows = {key: cells for key, cells in rows.items() if any(cells.values())}
        yield " ".join(mode), ["N x K", "variant"] + [f"M={count}" for count in tokens], [
            [*key, *(cells.get(count, "") for count in tokens)] for key, cells in rows.items()]


# What was published of designs for Unsloth's challenge, all on a T4 and over the chain of its day, and
# the functions of docs/examples/python that stand for them.
CLAIMS = {"skeleton.your_dequantize_nf4": "1.22x, a fused kernel", "warps.dequantize": "1.26x, warp-persistent",
          "hints.dequantize": "1.18x, streaming stores", "adaptive.dequantize": "", "tree.dequantize": ""}
OVER = ["branch_tree", "multi_kernel", "bitsandbytes"]


def claim_rows(report):
    """Yields a row for each design, the package and fused: what was published, then mean ratios (geometric)."""
    cells = {}
    for m in report["measurements"]:
        if m["status"] == "passed":
            place = (m["tensor"], m["output_dtype"], m["cache"], m["launch"])
            cells.setdefault(m["variant"], {})[place] = m["time_s"]["median"]
    for variant in [*CLAIMS, "nf4.fast_dequantize", "fused"]:
        if variant not in cells:
            continue
        row = [variant, CLAIMS.get(variant, "")]
        for base in OVER:
            ratios = [cells[base][place] / time for place, time in cells[variant].items()
                      if place in cells.get(base, {})]
            row.append(f"{statistics.geometric_mean(ratios):.2f}x" if ratios else "")
        yield row


# Of each part of scripts/torch/end_to_end.py: what is shown, its name, and whether more of it is better.
PARTS = [("layers", "graph_ms", "linear layers of a step, CUDA graph, ms", False),
         ("layers", "eager_us_a_layer", "the same, eager, us a layer", False),
         ("step", "ms", "a whole step, static cache, CUDA graph, ms", False),
         ("compiled", "tokens_per_second", "compiled by torch.compile, tokens/s", True),
         ("generate", "tokens_per_second", "`generate`, eager, tokens/s", True),
         ("prefill", "ms", "prefill of 2,048 tokens, eager, ms", False),
         ("training", "ms", "a step of QLoRA training, sequences of 1,024 tokens, ms", False)]


def end_to_end_rows(whole):
    """Yields a row for each part and batch: bitsandbytes' own code, the drop-in, and how many times as fast."""
    for part, field, what, is_rate in PARTS:
        for batch, result in whole["parts"].get(part, {}).items():
            theirs, ours = (each["median"] if isinstance(each, dict) else each
                            for each in (result[field][who] for who in ("bitsandbytes", "nf4bench")))
            ratio = ours / theirs if is_rate else theirs / ours
            yield [what, batch, micro(theirs / 1e6), micro(ours / 1e6), f"{ratio:.2f}x"]


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variant", help="with --tokens variants, separated by commas [all], else one [fused]")
    parser.add_argument("--dtype", default="", help="output types, separated by commas [all]")
    parser.add_argument("--launch", default="", help="launch modes, likewise")
    parser.add_argument("--models", action="store_true", help="whole-model times instead of geometries")
    parser.add_argument("--tokens", action="store_true", help="microseconds over numbers of tokens, for matmul")
    parser.add_argument("--claims", action="store_true", help="designs in Python beside what was published of them")
    parser.add_argument("--end-to-end", action="store_true", help="models in PyTorch, with and without the drop-in")
    parser.add_argument("reports", nargs="+")
    arguments = parser.parse_args()
    reports = [json.load(open(path, encoding="utf-8")) for path in arguments.reports]
    if arguments.end_to_end:
        for whole in reports:
            theirs = f"bitsandbytes {whole['machine']['bitsandbytes']}"
            print_table(["what", "batch", theirs, "with the drop-in", "ratio"], end_to_end_rows(whole))
        return 0
    for path, report in zip(arguments.reports, reports):
        if not report["complete"] and not arguments.tokens:
            print(f"results_table: {path} is incomplete", file=sys.stderr)
            return 1
    device = reports[0]["device"]
    print(f"{device['name']}, driver {device['driver']}, CUDA {device['runtime']}; "
          f"copy {reports[0]['ceilings']['copy_bytes_per_s'] / 1e9:,.0f} GB/s\n")
    if arguments.models:
        for path, report in zip(arguments.reports, reports):
            print(f"{report['tensors'][0]['source']}: every quantized layer once\n")
            has_tokens = any(row.get("tokens") for row in report["summary"]["variants"])
            print_table(["variant", "type", "mode", *(["tokens", "ms", "tokens/s"] if has_tokens else ["ms"]),
                         "speedup"], model_rows(report))
            print()
        return 0
    if arguments.claims:
        print_table(["design", "published", *(f"over {base}" for base in OVER)],
                    [row for report in reports for row in claim_rows(report)])
        return 0
    if arguments.tokens:
        for report in reports:
            for title, head, rows in token_tables(report, arguments.variant and arguments.variant.split(",")):
                print(f"{title}, us\n")
                print_table(head, rows)
                print()
        return 0
    variant = arguments.variant or "fused"
    baseline = next(m["speedup"]["baseline"] for m in reports[0]["measurements"] if m["speedup"])
    head = ["geometry", "absmax", "type", "mode", f"{baseline}, us", f"{variant}, us", "ratio",
            "GB/s", "% of copy", "% of stream"]
    rows = [row for report in reports for row in geometry_rows(report, variant)]
    print_table(head, in_order(rows, arguments.dtype.split(",") if arguments.dtype else [],
                               arguments.launch.split(",") if arguments.launch else []))
    return 0


if __name__ == "__main__":
    sys.exit(main())
