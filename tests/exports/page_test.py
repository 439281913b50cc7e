"""Opens the HTML page of a report in headless Chromium and asks it what it shows.

Usage: page_test.py PATH_OF_NF4BENCH. Exits with 77 (skipped) where there is no Chromium; with 1 if
NF4BENCH_ALL_CONSUMERS is in the environment.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORTS = [ROOT / "tests/report/golden/gpu.json", ROOT / "tests/report/golden/cpu.json",
           ROOT / "docs/results/h200/llama-3.1-8b.json"]
BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "nf4bench"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)

# Stands first in the page, so that it hears every error.
LISTENER = """<script>
const faults = [];
window.addEventListener('error', event => faults.push(String(event.message)));
document.addEventListener('securitypolicyviolation', event => faults.push(event.violatedDirective));
</script>"""

# Stands last: uses the page as a reader would, and leaves what it saw in the document.
PROBE = """<script>
const root = document.documentElement;
const seen = {faults, dark: matchMedia('(prefers-color-scheme: dark)').matches,
  overflow: root.scrollWidth - root.clientWidth,
  ground: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
  loaded: performance.getEntriesByType('resource').map(entry => entry.name)};
const cells = document.getElementById('cell');
const shown = () => [...document.querySelectorAll('figure.samples')]
  .filter(figure => figure.offsetHeight > 0).map(figure => figure.id);
seen.chosen = [];
for (const option of cells.options) {
  cells.value = option.value;
  cells.dispatchEvent(new Event('change'));
  seen.chosen.push([option.value, shown()]);
}
seen.flat = [...document.querySelectorAll('svg')].filter(svg => svg.checkVisibility()
  && svg.getBoundingClientRect().height < 40).length;
seen.rows = [...document.querySelectorAll('tr[id^=m]')].map(row => row.id);
seen.marked = [...document.querySelectorAll('#speedup svg a, section svg a, svg a')].map(link => {
  location.hash = link.getAttribute('href');
  const row = document.querySelector(':target');
  return row !== null && row.tagName === 'TR' && row.offsetHeight > 0;
});
const note = document.createElement('pre');
note.id = 'seen';
note.textContent = JSON.stringify(seen);
document.body.append(note);
</script>"""


def chromium(*arguments):
    """What headless Chromium prints; it keeps its profile in a folder of its own."""
    with tempfile.TemporaryDirectory() as profile:
        result = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", f"--user-data-dir={profile}", *arguments],
            capture_output=True, timeout=120, check=True)
    return result.stdout.decode("utf-8", "replace")


def channels(colour):
    return [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]


def luminance(colour):
    """Relative luminance, WCAG 2.1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, report, probed=True):
        page = self.folder / "page.html"
        subprocess.run([BINARY, "export", str(report), "--to", "html", "-o", str(page)], check=True)
        if probed:
            text = page.read_text(encoding="utf-8")
            text = text.replace("<title>", LISTENER + "<title>", 1)
            page.write_text(text.replace("</body>", PROBE + "</body>", 1), encoding="utf-8")
        return page.as_uri()

    def look(self, report, width=1280, dark=False):
        options = ["--blink-settings=preferredColorScheme=0"] if dark else []
        dom = chromium(f"--window-size={width},900", *options, "--dump-dom", self.write(report))
        found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
        self.assertIsNotNone(found, "the probe did not run to its end")
        text = found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
        return json.loads(text)

    def test_shows_one_cell_of_samples_and_marks_the_row_of_each_figure(self):
        for report in REPORTS:
            with self.subTest(report.name):
                seen = self.look(report)
                self.assertEqual(seen["faults"], [])
                self.assertEqual(seen["loaded"], [])
                self.assertGreaterEqual(len(seen["chosen"]), 1)
                for cell, shown in seen["chosen"]:
                    self.assertEqual(shown, [cell])
                self.assertEqual(seen["flat"], 0)
                rows = len(json.loads(report.read_text(encoding="utf-8"))["measurements"])
                self.assertEqual(seen["rows"], [f"m{i}" for i in range(rows)])
                self.assertGreater(len(seen["marked"]), 0)
                self.assertTrue(all(seen["marked"]))

    def test_fits_into_narrow_and_wide_windows(self):
        for width in (500, 800, 1280, 1920):
            with self.subTest(width):
                self.assertLessEqual(self.look(REPORTS[0], width)["overflow"], 0)

    def test_follows_the_reader_into_the_dark(self):
        for dark in (False, True):
            seen = self.look(REPORTS[0], dark=dark)
            self.assertEqual(seen["dark"], dark)
            ground, ink = luminance(seen["ground"]), luminance(seen["ink"])
            self.assertEqual(ground < ink, dark)
            contrast = (max(ground, ink) + 0.05) / (min(ground, ink) + 0.05)
            self.assertGreaterEqual(contrast, 7.0)  # WCAG 2.1, level AAA

    def test_is_drawn_and_printed(self):
        page = self.write(REPORTS[2], probed=False)
        picture, paper = self.folder / "page.png", self.folder / "page.pdf"
        chromium("--window-size=1280,1400", "--hide-scrollbars", f"--screenshot={picture}", page)
        chromium("--no-pdf-header-footer", f"--print-to-pdf={paper}", page)
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(picture.stat().st_size, 50_000)  # an empty page has some 6 kB
        printed = paper.read_bytes()
        self.assertEqual(printed[:5], b"%PDF-")
        self.assertIn(len(re.findall(rb"/Type\s*/Page\b", printed)), range(2, 9))


if __name__ == "__main__":
    if CHROMIUM is None:
        print("there is no Chromium: apt-get install chromium", file=sys.stderr)
        sys.exit(1 if "NF4BENCH_ALL_CONSUMERS" in os.environ else 77)
    unittest.main()
