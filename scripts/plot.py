#!/usr/bin/env python3
"""Draws reports of nf4bench with matplotlib, for papers and slides.

  plot.py REPORT -o bandwidth.svg                     bandwidth over size, with the ceilings
  plot.py REPORT --plot speedup -o speedup.png        speedups with their intervals
  plot.py OLD ... NEW --plot history -o history.png   medians of each cell, run by run

Exit code: 0 when the picture is written, 2 on wrong usage, 3 when a report cannot be drawn.
"""

import argparse
import fnmatch
import json
import math
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    sys.exit("plot.py needs matplotlib. On Debian or Ubuntu: apt-get install python3-matplotlib")

# Colours that colour-blind people can tell apart (after Okabe and Ito).
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#b8528f", "#b58900", "#2aa1d8", "#7a5cc2", "#6b4423"]
MARKERS = "osD^vP*X"
STYLE = {
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "axes.axisbelow": True, "grid.color": "#e3e7eb", "legend.frameon": False, "figure.dpi": 150,
    "svg.hashsalt": "nf4bench", "svg.fonttype": "path",
}


class NotDrawable(Exception):
    """There is nothing to draw; says why."""


def read_report(path):
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        raise NotDrawable(f"{path}: {error}") from error
    if not isinstance(report, dict) or report.get("schema") != "nf4bench.report":
        raise NotDrawable(f"{path}: is not a report as \"nf4bench run --json\" writes it")
    return report


def cell_kind(row):
    return f"{row['output_dtype']}, {row['cache']}, {row['launch']}"


def shape_of(tensor):
    return "x".join(map(str, tensor["shape"]))


def timed_rows(report, chosen):
    """The rows with a time, and the kind of cell that most of them are of, unless one is chosen."""
    rows = [m for m in report["measurements"] if m["status"] == "passed" and m["time_s"]]
    if chosen.variant:
        rows = [m for m in rows
                if any(fnmatch.fnmatchcase(m["variant"], p) for p in chosen.variant.split(","))]
    if chosen.dtype:
        rows = [m for m in rows if m["output_dtype"] == chosen.dtype]
    if not rows:
        raise NotDrawable("no measurement has a time and matches --variant and --dtype")
    kinds = [cell_kind(m) for m in rows]
    kind = max(dict.fromkeys(kinds), key=kinds.count)
    return [m for m in rows if cell_kind(m) == kind], kind


def look_of(rows):
    """A colour and a marker for each variant, the same in every plot of these rows."""
    names = list(dict.fromkeys(m["variant"] for m in rows))
    return {name: {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)],
                   "linestyle": "-" if i < len(COLOURS) else "--"}
            for i, name in enumerate(names)}


def size_text(elements, _position=None):
    for unit in ("", " Ki", " Mi", " Gi"):
        if elements < 1024:
            break
        elements /= 1024
    return f"{elements:.3g}{unit}"


def draw_ceilings(axes, report, rows, sizes):
    device, ceilings = report["device"], report["ceilings"]
    for name, rate in (("memory peak", device["peak_bytes_per_s"]),
                       ("copy", ceilings["copy_bytes_per_s"])):
        if rate:
            axes.axhline(rate / 1e9, color="#656d76", linewidth=1, linestyle=(0, (5, 4)))
            axes.annotate(f"{name} {rate / 1e9:.0f}", (0, rate / 1e9), xytext=(4, 3),
                          xycoords=("axes fraction", "data"), textcoords="offset points",
                          color="#656d76", fontsize=8)
    keys = ("output_dtype", "cache", "launch")
    points = sorted((sizes[s["tensor"]], s["bytes_per_s"] / 1e9) for s in ceilings["stream"]
                    if all(s[key] == rows[0][key] for key in keys))
    if points:
        axes.plot(*zip(*points), color="#656d76", linewidth=1.2, linestyle=":",
                  label="best kernel that only moves the bytes", zorder=3)


def draw_bandwidth(reports, chosen):
    report = reports[0]
    rows, kind = timed_rows(report, chosen)
    sizes = {t["id"]: t["elements"] for t in report["tensors"]}
    figure, axes = pyplot.subplots(figsize=(8, 4.6))
    for variant, look in look_of(rows).items():
        points = sorted((sizes[m["tensor"]], m["bytes_per_s"] / 1e9)
                        for m in rows if m["variant"] == variant)
        axes.plot(*zip(*points), label=variant, linewidth=1.8, markersize=4.5, **look)
    draw_ceilings(axes, report, rows, sizes)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(size_text)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("elements of the tensor")
    axes.set_ylabel("GB/s, read and written")
    axes.set_title(f"{report['device']['name']}: {kind}", loc="left", fontsize=10)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    return figure


def reach_of(values, unit=1.0):
    """How far the intervals reach below and above; too few samples have no interval."""
    ends = [(value, interval or (value, value)) for value, interval in values]
    return [[max(value - low, 0.0) * unit for value, (low, _) in ends],
            [max(high - value, 0.0) * unit for value, (_, high) in ends]]


def draw_speedup(reports, chosen):
    report = reports[0]
    rows, kind = timed_rows(report, chosen)
    rows = [m for m in rows if m["speedup"]]
    if not rows:
        raise NotDrawable("no measurement has a speedup")
    tensors = [t for t in report["tensors"] if any(m["tensor"] == t["id"] for m in rows)]
    looks = look_of(rows)
    step = 0.8 / len(looks)
    figure, axes = pyplot.subplots(figsize=(max(6.0, 0.2 * len(rows) + 3.5), 4.6))
    for i, (variant, look) in enumerate(looks.items()):
        found = {m["tensor"]: m["speedup"] for m in rows if m["variant"] == variant}
        bars = [(x - 0.4 + step * (i + 0.5), found[t["id"]])
                for x, t in enumerate(tensors) if t["id"] in found]
        ratios = [s["ratio"] for _, s in bars]
        reach = reach_of((s["ratio"], s["ci95"]) for _, s in bars)
        axes.bar([x for x, _ in bars], ratios, step * 0.9, yerr=reach, label=variant,
                 color=look["color"], hatch="///" if look["linestyle"] == "--" else None,
                 edgecolor="white", linewidth=0,
                 error_kw={"elinewidth": 1, "capsize": min(2.0, 12 * step)})
    axes.axhline(1.0, color="#656d76", linewidth=1, linestyle=(0, (5, 4)))
    axes.set_xticks(range(len(tensors)), [shape_of(t) for t in tensors])
    axes.tick_params(axis="x", labelrotation=30 if len(tensors) > 4 else 0)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(f"speedup over {rows[0]['speedup']['baseline']}")
    axes.set_title(f"{report['device']['name']}: {kind}", loc="left", fontsize=10)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    return figure


def draw_history(reports, chosen):
    reports = sorted(reports, key=lambda report: report["started_at"])
    figure, axes = pyplot.subplots(figsize=(8, 4.6))
    lines = {}
    for run, report in enumerate(reports):
        rows, kind = timed_rows(report, chosen)
        shapes = {t["id"]: shape_of(t) for t in report["tensors"]}
        for m in rows:
            name = f"{m['variant']}  {shapes[m['tensor']]}"
            lines.setdefault(name, []).append((run, m["time_s"]))
    if len(lines) > 24:
        raise NotDrawable(f"{len(lines)} lines are too many to tell apart: choose with --variant")
    for i, (name, points) in enumerate(lines.items()):
        medians = [time["median"] * 1e6 for _, time in points]
        reach = reach_of(((t["median"], t["ci95"]) for _, t in points), 1e6)
        axes.errorbar([run for run, _ in points], medians, yerr=reach, label=name, capsize=2,
                      linewidth=1.6, markersize=4.5, color=COLOURS[i % len(COLOURS)],
                      marker=MARKERS[i // len(COLOURS)])
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}"
                                   if round(value / 10 ** math.floor(math.log10(value))) in (2, 5)
                                   else "")
    axes.set_xticks(range(len(reports)), [r["started_at"][:16].replace("T", "\n") for r in reports])
    axes.set_ylabel("median time, us")
    axes.set_title(f"{reports[-1]['device']['name']}: {kind}", loc="left", fontsize=10)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    return figure


PLOTS = {"bandwidth": draw_bandwidth, "speedup": draw_speedup, "history": draw_history}


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", metavar="REPORT", nargs="+")
    parser.add_argument("-o", "--output", metavar="FILE", required=True,
                        help="the picture; its ending decides the format")
    parser.add_argument("--plot", choices=PLOTS, help="[history of several reports, else bandwidth]")
    parser.add_argument("--variant", metavar="NAME,...", help="only these; * and ? are wildcards")
    parser.add_argument("--dtype", choices=("float16", "bfloat16", "float32"))
    chosen = parser.parse_args(words)
    plot = chosen.plot or ("history" if len(chosen.reports) > 1 else "bandwidth")
    if plot != "history" and len(chosen.reports) > 1:
        parser.error(f"--plot {plot} draws one report")
    if not chosen.output.endswith((".png", ".svg", ".pdf")):
        parser.error("-o wants a name that ends in .png, .svg or .pdf")
    with pyplot.rc_context(STYLE):
        figure = PLOTS[plot]([read_report(path) for path in chosen.reports], chosen)
        # Without a date, so that the same reports give the same file.
        metadata = {"Date": None} if chosen.output.endswith(".svg") else None
        figure.savefig(chosen.output, bbox_inches="tight", metadata=metadata)
        pyplot.close(figure)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NotDrawable as error:
        print(f"plot.py: {error}", file=sys.stderr)
        sys.exit(3)
