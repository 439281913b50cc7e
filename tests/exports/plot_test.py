"""Draws the golden reports with scripts/plot.py; skipped where matplotlib is not installed,
which with NF4BENCH_ALL_CONSUMERS in the environment is a failure.
"""

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
sys.path.insert(0, str(ROOT / "scripts"))
try:
    import matplotlib
    import plot
except ImportError:
    matplotlib = None


def draw(*words):
    return plot.main([str(word) for word in words])


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
                      [GOLDEN / "cpu.json", "--plot", "bandwidth"]):
            path = self.folder / "picture.png"
            self.assertEqual(draw(*words, "-o", path), 0)
            self.assertEqual(path.read_bytes()[:4], b"\x89PNG")
            path.unlink()

    def test_draws_the_same_file_from_the_same_report(self):
        paths = [self.folder / "a.svg", self.folder / "b.svg"]
        for path in paths:
            self.assertEqual(draw(GOLDEN / "gpu.json", "-o", path), 0)
        self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())
        xml.etree.ElementTree.parse(paths[0])

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
