"""Draws the golden reports with scripts/plot.py; skipped where matplotlib is not installed,
which with NF4BENCH_ALL_CONSUMERS in the environment is a failure.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/report/golden"

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python"))
try:
    import matplotlib
    from nf4bench import plot
except ImportError:
    matplotlib = None


def draw(*words):
    return plot.main([str(word) for word in words])


# What people see who lack the cones for long, middle or short waves, in linear RGB: Machado,
# Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency".
VISIONS = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))  # sRGB
WHITE = (0.9505, 1.0, 1.089)


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def seen_as(colour, vision):
    """CIELAB of "#rrggbb"."""
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    seen = [min(max(c, 0.0), 1.0) for c in times(VISIONS[vision], linear)]
    x, y, z = (v / w for v, w in zip(times(TO_XYZ, seen), WHITE))
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def difference(one, other, vision):
    pairs = zip(seen_as(one, vision), seen_as(other, vision))
    return sum((a - b) ** 2 for a, b in pairs) ** 0.5


def run_script(*words):
    return subprocess.run([sys.executable, str(ROOT / "scripts/plot.py"), *map(str, words)],
                          capture_output=True, text=True, check=False)


@unittest.skipIf(matplotlib is None and "NF4BENCH_ALL_CONSUMERS" not in os.environ,
                 "needs matplotlib")
class Plot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_draws_every_kind(self):
        gpu = GOLDEN / "gpu.json"
        for words in ([gpu], [gpu, "--plot", "speedup"], [gpu, gpu],
                      [GOLDEN / "cpu.json", "--plot", "bandwidth"],
                      [GOLDEN / "matmul.json"], [GOLDEN / "matmul.json", "--plot", "speedup"],
                      [GOLDEN / "matmul.json", "--plot", "tokens"]):
            path = self.folder / "picture.png"
            self.assertEqual(draw(*words, "-o", path), 0)
            self.assertEqual(path.read_bytes()[:4], b"\x89PNG")
            path.unlink()

    def test_draws_time_and_roof_of_each_geometry_over_tokens(self):
        report = json.loads((GOLDEN / "matmul.json").read_text(encoding="utf-8"))
        chosen = plot.argparse.Namespace(variant=None, dtype=None)
        figure = plot.draw_tokens([report], chosen)
        self.addCleanup(plot.pyplot.close, figure)
        self.assertEqual(len(figure.axes), 2 * len(report["tensors"]))
        for axes in figure.axes:
            lines = {line.get_label(): list(line.get_xdata()) for line in axes.get_lines()}
            self.assertEqual(lines, {"chain_cublas": [1, 8, 64], "gemv_shuffle": [1, 8],
                                     "fused": [1, 8, 64], "cublas_resident": [1, 8, 64]})
        first = next(m for m in report["measurements"] if m["variant"] == "fused")
        drawn = [line.get_ydata()[0] for line in figure.axes[0].get_lines()
                 if line.get_label() == "fused"]
        self.assertAlmostEqual(drawn[0], first["time_s"]["median"] * 1e6)

    def test_says_that_there_are_no_tokens(self):
        result = run_script(GOLDEN / "gpu.json", "--plot", "tokens", "-o", self.folder / "a.svg")
        self.assertEqual(result.returncode, 3)
        self.assertIn("no measurement", result.stderr)

    def test_draws_the_same_file_from_the_same_report(self):
        paths = [self.folder / "a.svg", self.folder / "b.svg"]
        for path in paths:
            self.assertEqual(draw(GOLDEN / "gpu.json", "-o", path), 0)
        self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())
        xml.etree.ElementTree.parse(paths[0])

    def test_has_colours_that_everyone_can_tell_apart_and_see_on_white(self):
        for vision in VISIONS:
            for one, other in itertools.combinations([*plot.COLOURS, "#ffffff"], 2):
                self.assertGreater(difference(one, other, vision), 15.0, (vision, one, other))

    def test_draws_no_two_of_thirty_variants_alike(self):
        looks = list(plot.looks_of([f"variant_{i}" for i in range(32)]).values())
        for one, other in itertools.combinations(looks, 2):
            for second in ("linestyle", "marker"):
                self.assertNotEqual((one["color"], one[second]), (other["color"], other[second]))

    def drawn_with(self, count, draw):
        """The axes of what `draw` makes of the golden report with `count` variants."""
        report = json.loads((GOLDEN / "gpu.json").read_text(encoding="utf-8"))
        model = [m for m in report["measurements"] if m["variant"] == "fused"]
        report["measurements"] = [dict(m, variant=f"a_variant_with_a_long_name_{i}")
                                  for i in range(count) for m in model]
        with plot.pyplot.rc_context(plot.STYLE):
            figure = draw([report], argparse.Namespace(variant=None, dtype=None))
            figure.canvas.draw()
            self.addCleanup(plot.pyplot.close, figure)
        return figure.axes[0]

    def test_gives_each_of_thirty_variants_a_line_of_its_own_in_the_legend(self):
        for kind in (plot.draw_bandwidth, plot.draw_speedup):
            axes = self.drawn_with(30, kind)
            legend = axes.get_legend()
            names = [text.get_text() for text in legend.get_texts()]
            self.assertEqual(len([n for n in names if n.startswith("a_variant")]), 30)
            self.assertGreater(legend.get_window_extent().x0, axes.get_window_extent().x1)
            self.assertLess(legend.get_window_extent().height,
                            1.1 * axes.get_window_extent().height)
        lines = self.drawn_with(30, plot.draw_bandwidth).get_lines()
        styles = {(line.get_color(), line.get_marker(), line.get_linestyle())
                  for line in lines if line.get_marker() != "None"}
        self.assertEqual(len(styles), 30)

    def test_says_why_nothing_can_be_drawn(self):
        for words in ([GOLDEN / "empty.json"], [ROOT / "README.md"], ["/no/such/file"],
                      [GOLDEN / "gpu.json", "--variant", "no_such"]):
            with self.assertRaises(plot.NotDrawable, msg=words):
                draw(*words, "-o", self.folder / "x.png")
        result = run_script("/no/such/file", "-o", self.folder / "x.png")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_never_replaces_a_report(self):
        report = self.folder / "report.png"
        report.write_bytes((GOLDEN / "gpu.json").read_bytes())
        (self.folder / "link.png").symlink_to("report.png")
        os.link(report, self.folder / "hard.png")
        before = report.read_bytes()
        for name in ("report.png", "link.png", "hard.png"):
            for more in ([], ["--force"]):
                result = run_script(report, "-o", self.folder / name, *more)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("is a report that is read", result.stderr)
        self.assertEqual(report.read_bytes(), before)

    def test_replaces_other_files_only_with_force(self):
        for ending in ("png", "svg", "pdf"):
            path = self.folder / f"picture.{ending}"
            path.write_bytes(b"mine")
            with self.assertRaises(plot.NotReplaceable):
                draw(GOLDEN / "gpu.json", "-o", path)
            self.assertEqual(path.read_bytes(), b"mine")
            self.assertEqual(draw(GOLDEN / "gpu.json", "-o", path, "--force"), 0)
            self.assertEqual(draw(GOLDEN / "gpu.json", "-o", path), 0)  # its own picture
        self.assertEqual(len(list(self.folder.iterdir())), 3)

    def test_writes_no_pipes_and_no_broken_places(self):
        os.mkfifo(self.folder / "pipe.png")
        (self.folder / "loop.png").symlink_to("loop.png")
        for name in ("pipe.png", "loop.png", "missing/x.png"):
            with self.assertRaises(plot.NotReplaceable, msg=name):
                draw(GOLDEN / "gpu.json", "-o", self.folder / name)


if __name__ == "__main__":
    unittest.main()
