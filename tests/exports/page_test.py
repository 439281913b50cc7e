"""Opens the HTML page of a report in headless Chromium and asks it what it shows.

Usage: page_test.py PATH_OF_NF4BENCH. Where there is no Chromium, only the page's source is looked
at, which with NF4BENCH_ALL_CONSUMERS in the environment is a failure.
"""

import base64
import hashlib
import html
import html.parser
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
           ROOT / "tests/report/golden/matmul.json",
           ROOT / "docs/results/h200/llama-3.1-8b.json"]
BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "nf4bench"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)

# Stands first in the page, so that it hears every error.
LISTENER = """
const faults = [];
window.addEventListener('error', event => faults.push(String(event.message)));
document.addEventListener('securitypolicyviolation', event => faults.push(event.violatedDirective));
"""

# Stands last: uses the page as a reader would, and leaves what it saw in the document.
PROBE = """
const root = document.documentElement;
const seen = {faults, dark: matchMedia('(prefers-color-scheme: dark)').matches,
  width: innerWidth, overflow: root.scrollWidth - root.clientWidth,
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
const words = [...document.querySelectorAll('body *:not(svg *), svg text')];
seen.outside = words.filter(word => {
  const {left, right} = word.getBoundingClientRect();
  return !word.closest('.wide > *') && (left < 0 || right > innerWidth);
}).map(word => word.outerHTML.slice(0, 80));
seen.small = [...document.querySelectorAll('svg text')].map(word => word.getBoundingClientRect())
  .filter(box => box.width > 0 && box.height < 12).length;
seen.flat = [...document.querySelectorAll('svg')].filter(svg => svg.checkVisibility()
  && svg.getBoundingClientRect().height < 10).length;
seen.rows = [...document.querySelectorAll('tr[id^=m]')].map(row => row.id);
seen.marked = [...document.querySelectorAll('figure a')].map(link => {
  location.hash = link.getAttribute('href');
  const row = document.querySelector(':target');
  return row !== null && row.tagName === 'TR' && row.offsetHeight > 0;
});
const note = document.createElement('pre');
note.id = 'seen';
note.textContent = JSON.stringify(seen);
document.body.append(note);
parent.postMessage(note.textContent, '*');
"""

# Windows of any width: Chromium's own are 500 pixels wide at least.
FRAMES = """<!DOCTYPE html><pre id="seen"></pre><script>
const found = [];
addEventListener('message', event => {{
  found.push(JSON.parse(event.data));
  document.getElementById('seen').textContent = JSON.stringify(found);
}});
</script>{frames}"""
FRAME = '<iframe src="{page}" style="width: {width}px; height: 900px; border: 0"></iframe>'

ATTACK = "</title></select></style></script><script>document.title='taken'</script>" \
    "\"'><img src=x onerror=\"document.title='taken'\"><svg onload=\"document.title='taken'\">" \
    "<text style=\"fill:red\">\u202egnp.exe\u2066 \u2028 \u0085 &amp; javascript:alert(1)"


def source_of(text):
    """How a policy names an inline script or style."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def policy_of(page):
    """The page's policy: what each kind of content may come from."""
    content = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    words = [rule.split() for rule in content.split(";")]
    return {rule[0]: rule[1:] for rule in words}


# What a reader of reports wants in these words alone.
CLOSED = ("schema", "schema_version", "kind", "dtype", "sha256", "operation", "output_dtype",
          "cache", "caches", "launch", "launches", "verify", "status", "stopped_by")


def with_strings(value, text):
    """`value` with `text` behind every string that a stranger may choose."""
    if isinstance(value, str):
        return value + text
    if isinstance(value, list):
        return [with_strings(each, text) for each in value]
    if isinstance(value, dict):
        return {key: each if key in CLOSED else with_strings(each, text)
                for key, each in value.items()}
    return value


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


class Workspace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, report):
        page = self.folder / "page.html"
        subprocess.run([BINARY, "export", str(report), "--to", "html", "-o", str(page)], check=True)
        return page

    def golden_with(self, text):
        """The golden report with `text` behind every string that a stranger may choose."""
        report = json.loads(REPORTS[0].read_text(encoding="utf-8"))
        path = self.folder / "report.json"
        path.write_text(json.dumps(with_strings(report, text)), encoding="utf-8")
        return path


class Elements(html.parser.HTMLParser):
    """What a parser that knows nothing of the page finds in it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


class Source(Workspace):
    """What needs no browser."""

    def test_allows_its_own_script_and_style_by_hash_and_nothing_else(self):
        for report in (*REPORTS, self.golden_with(ATTACK)):
            text = self.write(report).read_text(encoding="utf-8")
            scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
            styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
            self.assertEqual((len(scripts), len(styles)), (1, 1))
            self.assertEqual(policy_of(text), {
                "default-src": ["'none'"], "base-uri": ["'none'"], "form-action": ["'none'"],
                "script-src": [source_of(scripts[0])], "style-src": [source_of(styles[0])]})

    def test_has_no_element_or_attribute_that_a_string_of_the_report_brought(self):
        honest = Elements(self.write(REPORTS[0]).read_text(encoding="utf-8"))
        text = self.write(self.golden_with(ATTACK)).read_text(encoding="utf-8")
        self.assertGreater(text.count("onerror="), 20)
        attacked = Elements(text)
        self.assertEqual(attacked.tags, honest.tags)
        self.assertEqual(attacked.attributes, honest.attributes)
        self.assertNotIn("style", honest.attributes)
        self.assertEqual([name for name in honest.attributes if name.startswith("on")], [])
        self.assertIsNone(re.search("[\u202a-\u202e\u2066-\u2069\u2028\u0085]", text))


@unittest.skipIf(CHROMIUM is None, "needs Chromium")
class Page(Workspace):
    def probed(self, report):
        page = self.write(report)
        text = page.read_text(encoding="utf-8")
        allowed = f"script-src {source_of(LISTENER)} {source_of(PROBE)} "
        text = text.replace("script-src ", allowed, 1)
        text = text.replace("<title>", f"<script>{LISTENER}</script><title>", 1)
        page.write_text(text.replace("</body>", f"<script>{PROBE}</script></body>", 1),
                        encoding="utf-8")
        return page

    def seen(self, page, *options):
        dom = chromium("--window-size=1280,900", "--virtual-time-budget=5000", *options,
                       "--dump-dom", page.as_uri())
        found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
        self.assertIsNotNone(found, "the probe did not run to its end")
        return json.loads(html.unescape(found[1]))

    def look(self, report, *widths):
        """What is seen in a window of each width."""
        name = self.probed(report).name
        frames = self.folder / "frames.html"
        inner = "".join(FRAME.format(page=name, width=width) for width in widths)
        frames.write_text(FRAMES.format(frames=inner), encoding="utf-8")
        seen = self.seen(frames)
        self.assertEqual(sorted(each["width"] for each in seen), sorted(widths))
        return seen

    def test_shows_one_cell_of_samples_and_marks_the_row_of_each_figure(self):
        for report in REPORTS:
            with self.subTest(report.name):
                seen = self.look(report, 1280)[0]
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
        long_names = self.golden_with("a_name_without_a_blank" * 10)
        for report in (*REPORTS, long_names):
            for seen in self.look(report, 320, 375, 500, 768, 1440, 1920):
                with self.subTest(f"{seen['width']} {report.name}"):
                    self.assertLessEqual(seen["overflow"], 0)
                    self.assertEqual(seen["outside"], [])
                    self.assertEqual(seen["small"], 0)

    def test_runs_nothing_that_a_string_of_the_report_or_a_changed_page_brings(self):
        attacked = self.write(self.golden_with(ATTACK))
        self.assertNotIn("<title>taken", chromium("--dump-dom", attacked.as_uri()))
        script = "<script>document.title = 'taken'</script></body>"
        text = attacked.read_text(encoding="utf-8").replace("</body>", script)
        attacked.write_text(text, encoding="utf-8")
        self.assertNotIn("<title>taken", chromium("--dump-dom", attacked.as_uri()))
        attacked.write_text(re.sub("<meta http-equiv[^>]*>", "", text), encoding="utf-8")
        self.assertIn("<title>taken", chromium("--dump-dom", attacked.as_uri()))

    def test_follows_the_reader_into_the_dark(self):
        for dark in (False, True):
            options = ["--blink-settings=preferredColorScheme=0"] if dark else []
            seen = self.seen(self.probed(REPORTS[0]), *options)
            self.assertEqual(seen["dark"], dark)
            ground, ink = luminance(seen["ground"]), luminance(seen["ink"])
            self.assertEqual(ground < ink, dark)
            contrast = (max(ground, ink) + 0.05) / (min(ground, ink) + 0.05)
            self.assertGreaterEqual(contrast, 7.0)  # WCAG 2.1, level AAA

    def test_is_drawn_and_printed(self):
        page = self.write(REPORTS[2]).as_uri()
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
        if "NF4BENCH_ALL_CONSUMERS" in os.environ:
            sys.exit(1)
    unittest.main()
