"""Draws reports of nf4bench with matplotlib, for papers and slides.

  plot.py REPORT -o bandwidth.svg                     bandwidth over size, with the ceilings
  plot.py REPORT --plot speedup -o speedup.png        speedups with their intervals
  plot.py REPORT --plot tokens -o tokens.svg          time and roof of matmul over tokens
  plot.py OLD ... NEW --plot history -o history.png   medians of each cell, run by run

Exit code: 0 when the picture is written, 2 on wrong usage or when a file would be lost, 3 when a
report cannot be drawn.
"""

import argparse
import fnmatch
import io
import json
import math
import os
import sys
import tempfile

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError as error:
    raise ImportError("plots need matplotlib. On Debian or Ubuntu: apt-get install python3-matplotlib") from error

# Colours that colour-blind people can tell apart: those of Okabe and Ito but for yellow, which is
# faint on white; brown takes its place.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#6b4423"]
MARKERS = "osD^vP*X"
DASHES = ["-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2))]
HATCHES = [None, "///", "...", "xxx"]
STYLE = {
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "axes.axisbelow": True, "grid.color": "#e3e7eb", "legend.frameon": False, "figure.dpi": 150,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "nf4bench", "svg.fonttype": "path",
}


MOST_LINES = 24  # of a history, and below each other in a legend
MARK = "nf4bench scripts/plot.py"  # in every picture: one that has it may be replaced


class NotDrawable(Exception):
    """There is nothing to draw; says why."""


class NotReplaceable(Exception):
    """Something would be lost or cannot be written; says what."""


def is_own_picture(path):
    limit = 64 << 20  # pictures are smaller
    if os.path.getsize(path) > limit:
        return False
    with open(path, "rb") as file:
        return MARK.encode() in file.read()


def check_output(path, reports, force):
    """Refuses a picture that would replace a report or, without --force, a file of another kind."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise NotReplaceable(f"-o: {path} cannot be written: there is no folder {folder}")
    if not os.path.exists(path):
        if os.path.islink(os.path.realpath(path)):
            raise NotReplaceable(f"-o: {path} is a loop of links")
        return
    for report in reports:
        if os.path.exists(report) and os.path.samefile(path, report):
            raise NotReplaceable(f"-o: {path} is a report that is read ({report}), which would be lost; "
                                 "name another file")
    if not os.path.isfile(path):
        raise NotReplaceable(f"-o: {path} is no regular file")
    if os.path.getsize(path) and not force and not is_own_picture(path):
        raise NotReplaceable(f"-o: {path} exists and is not a picture of plot.py; --force replaces it "
                             "all the same")


def metadata_of(ending):
    """Without a date, so that the same reports give the same file."""
    if ending == "png":
        return {"Software": MARK}
    return {"Creator": MARK, "Date" if ending == "svg" else "CreationDate": None}


def write_whole(path, content):
    """A picture that is there whole or not at all."""
    real = os.path.realpath(path)
    descriptor, temporary = tempfile.mkstemp(prefix=".plot-", dir=os.path.dirname(real))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, real)
    except BaseException:
        os.unlink(temporary)
        raise


def read_report(path):
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        raise NotDrawable(f"{path}: {error}") from error
    if not isinstance(report, dict) or report.get("schema") != "nf4bench.report":
        raise NotDrawable(f"{path}: is not a report as \"nf4bench run --json\" writes it")
    return report


def mode_of(row):
    """All but the tokens; dequantize goes without saying."""
    operation = "" if row["operation"] == "dequantize" else row["operation"] + ", "
    return f"{operation}{row['output_dtype']}, {row['cache']}, {row['launch']}"


def cell_kind(row):
    tokens = row.get("tokens")
    return mode_of(row) + (f", {tokens} token{'s' if tokens > 1 else ''}" if tokens else "")


def shape_of(tensor):
    return "x".join(map(str, tensor["shape"]))


def timed_rows(report, chosen, kind_of=cell_kind):
    """The rows with a time, and the kind of cell that most of them are of, unless one is chosen."""
    rows = [m for m in report["measurements"] if m["status"] == "passed" and m["time_s"]]
    if chosen.variant:
        rows = [m for m in rows
                if any(fnmatch.fnmatchcase(m["variant"], p) for p in chosen.variant.split(","))]
    if chosen.dtype:
        rows = [m for m in rows if m["output_dtype"] == chosen.dtype]
    if not rows:
        raise NotDrawable("no measurement has a time and matches --variant and --dtype")
    kinds = [kind_of(m) for m in rows]
    kind = max(dict.fromkeys(kinds), key=kinds.count)
    return [m for m in rows if kind_of(m) == kind], kind


def looks_of(names):
    """How each name is drawn, the same in every plot of these names. Names of one colour differ in
    their dashes and their markers; 32 names differ in all that they are drawn with."""
    looks = {}
    for i, name in enumerate(names):
        colour, turn = i % len(COLOURS), i // len(COLOURS)
        looks[name] = {"color": COLOURS[colour], "linestyle": DASHES[turn % len(DASHES)],
                       "marker": MARKERS[(colour + turn) % len(MARKERS)]}
    return looks


def variants_of(rows):
    return dict.fromkeys(m["variant"] for m in rows)


def add_legend(axes, names):
    """Beside the plot, in the order of the lines, with room for a whole period of their dashes."""
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, handlelength=4,
                ncol=math.ceil(len(names) / MOST_LINES))


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
    points = sorted((sizes[s["tensor"]], s["bytes_per_s"] / 1e9) for s in ceilings["stream"]
                    if cell_kind({"operation": "dequantize", **s}) == cell_kind(rows[0]))
    if points:
        axes.plot(*zip(*points), color="#656d76", linewidth=1.2, linestyle=":",
                  label="best kernel that only moves the bytes", zorder=3)


def draw_bandwidth(reports, chosen):
    report = reports[0]
    rows, kind = timed_rows(report, chosen)
    sizes = {t["id"]: t["elements"] for t in report["tensors"]}
    figure, axes = pyplot.subplots(figsize=(10, 4.6))
    looks = looks_of(variants_of(rows))
    for variant, look in looks.items():
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
    add_legend(axes, looks)
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
    looks = looks_of(variants_of(rows))
    step = 0.8 / len(looks)
    figure, axes = pyplot.subplots(figsize=(max(8.0, 0.2 * len(rows) + 5.5), 4.6))
    for i, (variant, look) in enumerate(looks.items()):
        found = {m["tensor"]: m["speedup"] for m in rows if m["variant"] == variant}
        bars = [(x - 0.4 + step * (i + 0.5), found[t["id"]])
                for x, t in enumerate(tensors) if t["id"] in found]
        ratios = [s["ratio"] for _, s in bars]
        reach = reach_of((s["ratio"], s["ci95"]) for _, s in bars)
        axes.bar([x for x, _ in bars], ratios, step * 0.9, yerr=reach, label=variant,
                 color=look["color"], hatch=HATCHES[DASHES.index(look["linestyle"])],
                 edgecolor="white", linewidth=0,
                 error_kw={"elinewidth": 1, "capsize": min(2.0, 12 * step)})
    axes.axhline(1.0, color="#656d76", linewidth=1, linestyle=(0, (5, 4)))
    axes.set_xticks(range(len(tensors)), [shape_of(t) for t in tensors])
    axes.tick_params(axis="x", labelrotation=30 if len(tensors) > 4 else 0)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(f"speedup over {rows[0]['speedup']['baseline']}")
    axes.set_title(f"{report['device']['name']}: {kind}", loc="left", fontsize=10)
    add_legend(axes, looks)
    return figure


def draw_history(reports, chosen):
    reports = sorted(reports, key=lambda report: report["started_at"])
    figure, axes = pyplot.subplots(figsize=(10, 4.6))
    lines = {}
    for run, report in enumerate(reports):
        rows, kind = timed_rows(report, chosen)
        shapes = {t["id"]: shape_of(t) for t in report["tensors"]}
        for m in rows:
            name = f"{m['variant']}  {shapes[m['tensor']]}"
            lines.setdefault(name, []).append((run, m["time_s"]))
    if len(lines) > MOST_LINES:
        raise NotDrawable(f"{len(lines)} lines are too many to tell apart: choose with --variant")
    looks = looks_of(lines)
    for name, points in lines.items():
        medians = [time["median"] * 1e6 for _, time in points]
        reach = reach_of(((t["median"], t["ci95"]) for _, t in points), 1e6)
        axes.errorbar([run for run, _ in points], medians, yerr=reach, label=name, capsize=2,
                      linewidth=1.6, markersize=4.5, **looks[name])
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}"
                                   if round(value / 10 ** math.floor(math.log10(value))) in (2, 5)
                                   else "")
    axes.set_xticks(range(len(reports)), [r["started_at"][:16].replace("T", "\n") for r in reports])
    axes.set_ylabel("median time, us")
    axes.set_title(f"{reports[-1]['device']['name']}: {kind}", loc="left", fontsize=10)
    add_legend(axes, looks)
    return figure


QUANTITIES = {"median time, us": lambda m: m["time_s"]["median"] * 1e6,
              "% of the roof": lambda m: 100 * m["fraction_of_roof"]}


def draw_over_tokens(axes, rows, looks, value_of):
    for variant, look in looks.items():
        points = sorted((m["tokens"], value_of(m)) for m in rows if m["variant"] == variant)
        if points:
            axes.plot(*zip(*points), label=variant, linewidth=1.8, markersize=4.5, **look)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def draw_tokens(reports, chosen):
    """A column for each geometry: its time, and below it how near that comes to the roof."""
    report = dict(reports[0], measurements=[m for m in reports[0]["measurements"] if m.get("tokens")])
    rows, kind = timed_rows(report, chosen, mode_of)
    tensors = [t for t in report["tensors"] if any(m["tensor"] == t["id"] for m in rows)]
    has_roof = any(m["fraction_of_roof"] is not None for m in rows)
    quantities = list(QUANTITIES.items())[:2 if has_roof else 1]
    looks = looks_of(variants_of(rows))
    figure, grid = pyplot.subplots(len(quantities), len(tensors), squeeze=False, sharex=True,
                                   figsize=(3.4 * len(tensors) + 2, 3.2 * len(quantities)))
    for (label, value_of), line in zip(quantities, grid):
        line[0].set_ylabel(label)
        for tensor, axes in zip(tensors, line):
            own = [m for m in rows if m["tensor"] == tensor["id"]]
            if label.startswith("%"):
                own = [m for m in own if m["fraction_of_roof"] is not None]
            draw_over_tokens(axes, own, looks, value_of)
    for tensor, axes in zip(tensors, grid[0]):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_title(shape_of(tensor), fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("tokens")
        if has_roof:
            axes.set_ylim(0, 100)
    figure.suptitle(f"{report['device']['name']}: {kind}", x=0.02, ha="left", fontsize=10)
    add_legend(grid[0][-1], looks)
    return figure


PLOTS = {"bandwidth": draw_bandwidth, "speedup": draw_speedup, "history": draw_history,
         "tokens": draw_tokens}


def figure_of(reports, plot, variant=None, dtype=None):
    """A matplotlib figure of reports, as dictionaries. Raises NotDrawable."""
    with pyplot.rc_context(STYLE):
        return PLOTS[plot](reports, argparse.Namespace(variant=variant, dtype=dtype))


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", metavar="REPORT", nargs="+")
    parser.add_argument("-o", "--output", metavar="FILE", required=True,
                        help="the picture; its ending decides the format")
    parser.add_argument("--force", action="store_true",
                        help="replace a file that is no picture of plot.py, but never a report")
    parser.add_argument("--plot", choices=PLOTS, help="[history of several reports, else bandwidth]")
    parser.add_argument("--variant", metavar="NAME,...", help="only these; * and ? are wildcards")
    parser.add_argument("--dtype", choices=("float16", "bfloat16", "float32"))
    chosen = parser.parse_args(words)
    plot = chosen.plot or ("history" if len(chosen.reports) > 1 else "bandwidth")
    if plot != "history" and len(chosen.reports) > 1:
        parser.error(f"--plot {plot} draws one report")
    if not chosen.output.endswith((".png", ".svg", ".pdf")):
        parser.error("-o wants a name that ends in .png, .svg or .pdf")
    check_output(chosen.output, chosen.reports, chosen.force)
    ending = chosen.output.rsplit(".", 1)[1]
    picture = io.BytesIO()
    with pyplot.rc_context(STYLE):
        figure = PLOTS[plot]([read_report(path) for path in chosen.reports], chosen)
        figure.savefig(picture, format=ending, bbox_inches="tight", metadata=metadata_of(ending))
        pyplot.close(figure)
    check_output(chosen.output, chosen.reports, chosen.force)
    write_whole(chosen.output, picture.getvalue())
    return 0


def run(words=None):
    """main(), with what goes wrong as a line and an exit code."""
    try:
        return main(words)
    except NotReplaceable as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 2
    except NotDrawable as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 3
