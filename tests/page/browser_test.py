#!/usr/bin/env python3
"""Looks at the pages of reports, comparisons, fleets and folders of reports in headless Chromium.

Usage: browser_test.py PATH_OF_NF4BENCH. Where there is no Chromium, only the pages' source is
looked at, which with NF4BENCH_ALL_CONSUMERS in the environment is a failure.
"""

import html.parser
import json
import os
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import browser
import pages

BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "nf4bench"
GOLDEN = pages.ROOT / "tests/report/golden"
REPORTS = [GOLDEN / "gpu.json", GOLDEN / "cpu.json", GOLDEN / "empty.json", pages.H200 / "llama-3.1-8b.json",
           pages.H200 / "matmul-llama-3.1-8b.json"]


def policy_of(page):
    """The page's policy: what each kind of content may come from."""
    content = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    words = [rule.split() for rule in content.split(";")]
    return {rule[0]: rule[1:] for rule in words}


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def cell_of(row):
    return tuple(row[name] for name in ("tensor", "operation", "output_dtype", "tokens", "cache", "launch"))


class Elements(html.parser.HTMLParser):
    """What a parser that knows nothing of the page finds in it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


class Pages(unittest.TestCase):
    kinds = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.make = pages.Maker(BINARY, folder.name)

    def each_kind(self, text=""):
        if text not in self.kinds:
            self.kinds[text] = [self.make.report(pages.load(REPORTS[0]), text), self.make.comparison(text=text),
                                self.make.fleet(text=text), *self.make.site(text)]
        return self.kinds[text][:-1]

    def each_page(self, text=""):
        """The same, and the page of all cards, which is small."""
        self.each_kind(text)
        return self.kinds[text]


class Source(Pages):
    """What needs no browser."""

    def test_allows_its_own_script_and_style_by_hash_and_nothing_else(self):
        for text in (*self.each_page(), *self.each_page(pages.ATTACK)):
            scripts = re.findall(r"<script>('use strict'.*?)</script>", text, re.DOTALL)
            styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
            self.assertEqual((len(scripts), len(styles)), (1, 1))
            self.assertEqual(policy_of(text), {
                "default-src": ["'none'"], "base-uri": ["'none'"], "form-action": ["'none'"],
                "script-src": [browser.source_of(scripts[0])], "style-src": [browser.source_of(styles[0])]})

    def test_has_no_element_or_attribute_that_a_string_brought(self):
        for honest, text in zip(map(Elements, self.each_kind()), self.each_kind(pages.ATTACK)):
            self.assertGreater(text.count("onerror="), 20)
            attacked = Elements(text)
            self.assertEqual(attacked.tags, honest.tags)
            self.assertEqual(attacked.attributes, honest.attributes)
            self.assertEqual([name for name in honest.attributes if name == "style" or name.startswith("on")], [])
            self.assertIsNone(re.search("[\u202a-\u202e\u2066-\u2069\u2028\u0085]", text))

    def test_holds_the_document_as_it_is(self):
        for text in ("", pages.ATTACK):
            report = pages.with_strings(pages.load(REPORTS[0]), text)
            held = data_of(self.make.report(report))
            self.assertEqual(held["measurements"], report["measurements"])
            self.assertEqual(held["host"], report["host"])
            self.assertEqual(data_of(self.make.comparison(text=text)),
                             json.loads(self.make.comparison("json", text=text)))
            self.assertEqual(data_of(self.make.fleet(text=text)), json.loads(self.make.fleet("json", text=text)))

    def test_has_the_tables_for_browsers_that_run_no_scripts(self):
        for path in REPORTS:
            report = pages.load(path)
            tables = re.search(r"<noscript>(.*)</noscript>", self.make.report(report), re.DOTALL)[1]
            self.assertGreaterEqual(tables.count("<tr") - tables.count("<thead>"), len(report["measurements"]))
        self.assertIn("<h2>SLOW: GPU-00000003", self.make.fleet())
        self.assertIn('<tr class="bad"><td>SLOWER</td><td>fused</td>', self.make.comparison())


@unittest.skipIf(browser.CHROMIUM is None, "needs Chromium")
class Report(Pages):
    def ask(self, path, question):
        return browser.ask([self.make.report(pages.load(path))], question)[0]

    def test_begins_with_the_fastest_of_each_cell(self):
        for path in REPORTS[3:]:
            report = pages.load(path)
            groups = {}
            for row in report["measurements"]:
                if row["status"] == "passed" and not row["reference_line"]:
                    groups.setdefault(cell_of(row), []).append(row)
            cells = self.ask(path, """return all('.matrix td a').map(link => [link.querySelector('span').textContent,
                link.querySelector('strong').firstChild.textContent]);""")
            self.assertEqual(len(cells), len(groups))
            for (variant, ratio), rows in zip(cells, [groups[key] for key in sorted(groups, key=lambda key: (
                    int(key[0][1:]), key[3] or 0))]):
                fastest = min(rows, key=lambda row: row["time_s"]["median"])
                shown = next(row for row in rows if row["variant"] == variant)
                self.assertGreaterEqual(shown["speedup"]["ci95"][1], fastest["speedup"]["ci95"][0])
                self.assertAlmostEqual(float(ratio.rstrip("x")), shown["speedup"]["ratio"], delta=0.051)
        sentence = self.ask(REPORTS[4], "return document.querySelector('.answer').textContent;")
        self.assertRegex(sentence, r"^fused is the fastest, alone or with equals, in \d\d of 32 cells, "
                                   r"[\d.]+x to [\d.]+x as fast as chain_cublas")

    def test_draws_a_point_for_each_time(self):
        report = pages.load(REPORTS[4])
        timed = [row for row in report["measurements"] if row["time_s"]]
        roofs = [row for row in timed if row["fraction_of_roof"]]
        captions, points = self.ask(REPORTS[4], """return [all('.charts figcaption').map(each => each.textContent),
            all('.chart .mark').length];""")
        self.assertEqual(len(captions), 8)
        self.assertEqual(captions[0], "4096x4096 q_proj, o_proj matmul bf16 cold graph: time over tokens")
        self.assertEqual(points, len(timed) + len(roofs))
        captions = self.ask(REPORTS[3], "return all('.charts figcaption').map(each => each.textContent);")
        self.assertEqual(captions, ["dequantize bf16 cold graph: GB/s over elements",
                                    "dequantize bf16 cold graph: time over elements"])

    def test_draws_the_roofline_of_a_cell_whose_traffic_was_counted(self):
        report = pages.load(REPORTS[4])
        rows = [row for row in report["measurements"] if cell_of(row) == cell_of(report["measurements"][0])
                and row["time_s"]]
        for row in rows:
            # As much traffic as a copy moves in half of that time, so at half of the roof.
            moved = int(row["time_s"]["median"] * report["ceilings"]["copy_bytes_per_s"] / 2)
            row["counters"] = pages.counters(moved // 4, moved - moved // 4)
        rows[0]["counters"]["dram_bytes_written"] = None
        question = """return all('#cell .chart').map(each => [each.getAttribute('aria-label'),
            all('.mark', each).map(mark => [...mark.getAttribute('transform').matchAll(/[\\d.]+/g)].slice(0, 2).map(Number)),
            [...each.querySelector('.level').getAttribute('d').matchAll(/[\\d.]+/g)].map(Number)]);"""
        (((caption, marks, roof),),) = browser.ask([self.make.report(report)], question)
        self.assertEqual(caption, "Roofline: FLOP a second over FLOP a byte of traffic with the memory")
        self.assertEqual(len(marks), len(rows) - 1)
        (left, low, right, high) = roof
        gaps = [y - (low + (high - low) * (x - left) / (right - left)) for x, y in marks]
        self.assertGreater(min(gaps), 5)
        self.assertLess(max(gaps) - min(gaps), 1)
        for row in rows:
            row["counters"].update(dram_bytes_read=1000, dram_bytes_written=0)
        (((_, _, bent),),) = browser.ask([self.make.report(report)], question)
        self.assertEqual((len(roof), len(bent)), (4, 4))
        rows[1]["counters"]["dram_bytes_read"] = 10**9
        (((_, _, bent),),) = browser.ask([self.make.report(report)], question)
        self.assertEqual((len(bent), bent[3], bent[5]), (6, bent[5], bent[3]))
        self.assertEqual(self.ask(REPORTS[4], question), [])

    def test_shows_what_the_fragment_picks(self):
        rows = pages.load(REPORTS[4])["measurements"]
        counts = browser.ask([self.make.report(pages.load(REPORTS[4]))], "return all('#rows tbody tr').length;",
                             fragments=("#tokens=8&rows-all=1", "#variant=fused&variant=mma_table&rows-all=1",
                                        "#status=skipped&rows-all=1", "", "#tokens=none&geometry=there"))
        self.assertEqual(counts, [
            sum(row["tokens"] == 8 for row in rows), sum(row["variant"] in ("fused", "mma_table") for row in rows),
            sum(row["status"] == "skipped" for row in rows), 200, 0])

    def test_writes_what_is_picked_into_the_fragment(self):
        seen = self.ask(REPORTS[4], """
            const select = document.querySelector('select[data-key=tokens]');
            select.value = '8';
            select.dispatchEvent(new Event('change'));
            await later();
            await press(document.querySelector('[data-key="variant fused"]'));
            const both = [location.hash, all('#rows tbody tr').length, document.activeElement.dataset.key,
              document.querySelector('[data-key="variant fused"]').getAttribute('aria-pressed')];
            await press(document.querySelector('[data-key="variant fused"]'));
            const one = location.hash;
            await press(document.querySelector('[data-key=none]'));
            return [both, one, location.hash];""")
        self.assertEqual(seen, [["#tokens=8&variant=fused", 4, "variant fused", "true"], "#tokens=8", ""])

    def test_sorts_by_any_column_and_back(self):
        seen = self.ask(REPORTS[3], """
            const column = name => all('#rows thead button').findIndex(each => each.textContent === name);
            const texts = name => all(`#rows tbody tr > :nth-child(${column(name) + 1})`).map(each => each.textContent);
            const found = [];
            for (const name of ['speedup', 'speedup', 'variant']) {
              await press(all('#rows thead button')[column(name)]);
              const head = all('#rows thead th')[column(name)];
              found.push([head.getAttribute('aria-sort'), texts(name), document.activeElement.textContent]);
            }
            return found;""")
        numbers = [float(text.rstrip("x")) for text in seen[0][1]]
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual([float(text.rstrip("x")) for text in seen[1][1]], sorted(numbers, reverse=True))
        self.assertEqual(seen[2][1], sorted(seen[2][1]))
        self.assertEqual([each[0] for each in seen], ["ascending", "descending", "ascending"])
        self.assertEqual([each[2] for each in seen], ["speedup", "speedup", "variant"])

    def test_links_lead_to_a_row_and_to_a_cell(self):
        inside = """const box = document.querySelector('.picked').getBoundingClientRect();
            return [document.querySelector('.picked').id, box.top >= 0 && box.bottom <= innerHeight];"""
        found = browser.ask([self.make.report(pages.load(REPORTS[4]))], inside,
                            fragments=("#row=0", "#row=77", "#row=415"))
        self.assertEqual(found, [["m0", True], ["m77", True], ["m415", True]])
        seen = self.ask(REPORTS[4], """
            await press(all('.matrix td a')[5]);
            const select = document.querySelector('#cell select');
            const top = document.getElementById('cell').getBoundingClientRect().top;
            return [select.selectedOptions[0].textContent, Math.abs(top) < 5, all('#cell .name a').length];""")
        self.assertEqual(seen, ["4096x4096 q_proj, o_proj matmul bf16 17 tokens cold graph", True, 13])

    def test_says_at_the_top_that_nothing_was_timed(self):
        report = pages.load(REPORTS[0])
        for row in report["measurements"]:
            row.update(status="failed", reason="12 elements differ", time_s=None, speedup=None)
        question = "return all('.warning').map(each => each.textContent);"
        (warnings,) = browser.ask([self.make.report(report)], question)
        self.assertEqual(warnings[0], f"No measurement has a time: {len(report['measurements'])} failed.")
        self.assertIn("12 elements differ", warnings[1])
        self.assertEqual(self.ask(REPORTS[2], question)[:2], [
            "Incomplete: the run did not finish. This is what it had measured.", "Nothing was measured."])

    def test_shows_names_in_full_and_why_a_row_has_no_time(self):
        texts = "return all('#rows tbody tr').map(each => each.textContent);"
        (rows,) = browser.ask([self.make.report(pages.load(REPORTS[0]), pages.LONG)], texts)
        for row, shown in zip(pages.load(REPORTS[0])["measurements"], rows):
            self.assertIn(row["variant"] + pages.LONG, shown)
            if row["status"] != "passed":
                self.assertIn(f"{row['status']}: {row['reason'] or ''}", shown)

    def test_says_when_and_with_what_it_was_measured(self):
        report = pages.load(REPORTS[0])
        header = self.ask(REPORTS[0], "return document.querySelector('header').textContent;")
        for text in (report["device"]["name"], report["started_at"], report["tool"]["version"],
                     report["tool"]["git_commit"][:8], report["tool"]["build_type"]):
            self.assertIn(text, header)


@unittest.skipIf(browser.CHROMIUM is None, "needs Chromium")
class OtherPages(Pages):
    def test_a_comparison_has_a_verdict_for_each_cell_and_the_interval_of_each_change(self):
        found = json.loads(self.make.comparison("json"))
        title, warnings, cells, changes, rows = browser.ask([self.make.comparison()], """
            return [document.querySelector('h1').textContent, all('.warning').map(each => each.textContent),
              all('.matrix td').filter(each => each.textContent).map(each => each.querySelector('strong').firstChild.textContent),
              all('#changes .note').map(each => each.textContent).filter(Boolean),
              all('#rows tbody tr').map(each => all('th, td', each).map(cell => cell.textContent))];""")[0]
        self.assertEqual(title, "1 INVALID, 1 MISSING, 2 SLOWER, 2 FASTER, 46 SAME")
        self.assertEqual(warnings[0], "Gate failed: 1 cell INVALID, 1 cell MISSING, 2 cells SLOWER")
        self.assertEqual(cells, ["SLOWER", "MISSING", "SLOWER", "INVALID"])
        self.assertEqual([note.split()[-1] for note in changes[:4]], ["SLOWER", "SLOWER", "FASTER", "FASTER"])
        self.assertEqual(len(rows), len(found["cells"]))
        slower = [row for row in rows if row[1] == "SLOWER"]
        expected = [cell for cell in found["cells"] if cell["verdict"] == "SLOWER"]
        self.assertCountEqual([row[6] for row in slower], [
            "[{:+.1f} %, {:+.1f} %]".format(*(100 * end for end in cell["change"]["interval"])) for cell in expected])

    def test_a_fleet_says_why_and_shows_units_by_cells(self):
        seen = browser.ask([self.make.fleet()], """
            const first = [document.querySelector('h1').textContent, all('.warning').map(each => each.textContent),
              all('#ranking .name a').length, all('#heat .strip').length, all('#units tbody tr').length,
              all('#cells tbody tr').length, document.querySelector('#unit select').selectedOptions[0].textContent];
            await press(all('#ranking .name a').at(-1));
            return [...first, document.querySelector('#unit select').selectedOptions[0].textContent.slice(0, 12),
              all('#ranking .name a').at(-1).textContent, all('#unit .point').length];""")[0]
        title, warnings, ranked, heated, units, cells, picked, linked, last, points = seen
        self.assertEqual(title, "2 FAILED, 1 SLOW, 8 OK")
        self.assertEqual((ranked, heated, units, cells, points), (11, 11, 11, 80, 80))
        text = "\n".join(warnings)
        self.assertIn("FAILED GPU-00000004-8b7f-5d2c-9f57-2f4c7b1f7a10 vm: its run did not end", text)
        self.assertIn("FAILED GPU-00000006-8b7f-5d2c-9f57-2f4c7b1f7a10 vm: 1 measurement wrong or impossible", text)
        self.assertRegex(text, r"SLOW GPU-00000003-\S+ vm: \+8.0 % against the median unit.*, slow in 80 of 80 cells")
        self.assertIn("missing: shard 12 of 13", text)
        self.assertIn("refused: ", text)
        self.assertIn("GPU-00000003", picked)
        self.assertEqual(linked, last)


@unittest.skipIf(browser.CHROMIUM is None, "needs Chromium")
class Site(Pages):
    def test_shows_all_cards_and_what_is_left_out(self):
        rows, left, commands, leads = browser.ask([self.make.site()[1]], """
            const texts = id => all(`#${id} tbody tr`).map(each => each.textContent);
            return [texts('cards'), texts('left'), all('#add code').length, all('#cards a').map(each => each.getAttribute('href'))];""")[0]
        self.assertEqual((len(rows), len(left), commands), (1, 1, 3))
        self.assertIn("NVIDIA H200", rows[0])
        self.assertIn("tampered.json", left[0])
        self.assertIn("nvidia-h200.html", leads)

    def test_shows_each_time_of_a_card_and_how_far_boards_are_apart(self):
        cells, rows, picked = browser.ask([self.make.site()[0]], """
            const rows = () => all('#rows tbody tr').map(each => each.textContent);
            const before = rows();
            await pick('#variant=fused');
            return [all('.matrix td strong').length, before, rows()];""")[0]
        self.assertEqual(cells, 16)  # 8 geometries in 2 types
        self.assertEqual((len(rows), len(picked)), (80, 16))
        for row in rows:
            self.assertRegex(row, r"\d\.\d\d %")


@unittest.skipIf(browser.CHROMIUM is None, "needs Chromium")
class EveryPage(Pages):
    def test_loads_nothing_and_fits_narrow_and_wide_windows(self):
        counted = pages.load(REPORTS[4])
        for number, row in enumerate(counted["measurements"][:13]):
            row["counters"] = pages.counters(10**7 + 10**6 * number, 1000)
        texts = [self.make.report(report) for report in (*map(pages.load, REPORTS), counted)]
        for group in (texts, self.each_page(), self.each_page(pages.LONG)):
            answers = browser.ask(group, """
                const root = document.documentElement;
                const outside = all('body *').filter(each => {
                  const {left, right, width} = each.getBoundingClientRect();
                  return width > 0 && !each.closest('.wide > *, svg *') && (left < -1 || right > innerWidth + 1);
                }).map(each => each.outerHTML.slice(0, 80));
                const crossed = all('.chart').flatMap(chart => ['tick', 'place', 'word'].flatMap(kind => {
                  const boxes = all(`.${kind}`, chart).map(each => each.getBoundingClientRect());
                  return boxes.filter((a, i) => boxes.some((b, k) => i < k && a.left < b.right && b.left < a.right
                    && a.top < b.bottom - 2 && b.top < a.bottom - 2)).map(() => kind);
                }));
                return {width: innerWidth, crossed, overflow: root.scrollWidth - root.clientWidth, outside,
                  small: all('svg text').filter(each => each.getBoundingClientRect().height < 10).length,
                  loaded: performance.getEntriesByType('resource').map(entry => entry.name)};""",
                                  widths=(320, 360, 375, 768, 1440))
            for seen in answers:
                with self.subTest(seen["width"]):
                    self.assertLessEqual(seen["overflow"], 0)
                    self.assertEqual((seen["outside"], seen["small"], seen["loaded"]), ([], 0, []))
                    self.assertEqual(seen["crossed"], [])

    def test_says_nothing_for_what_is_not_there(self):
        for seen in browser.ask([self.make.report(pages.load(path)) for path in REPORTS] + self.each_page(), """
                const found = document.getElementById('page').innerText.match(/.*(undefined|NaN|\\[object|null|false|Infinity).*/);
                return found && found[0];"""):
            self.assertIsNone(seen)

    def test_draws_no_element_that_a_string_brought(self):
        question = """return [document.title, [...new Set(all('body *').map(each => each.tagName))].sort(),
            /[\\u202a-\\u202e\\u2066-\\u2069\\u2028\\u0085]/.test(document.getElementById('page').textContent)];"""
        honest = browser.ask(self.each_page(), question)
        attacked = browser.ask(self.each_page(pages.ATTACK), question)
        for (_, tags, _), (title, found, is_turned) in zip(honest, attacked):
            self.assertNotEqual(title, "taken")
            self.assertEqual((found, is_turned), (tags, False))

    def test_runs_nothing_that_a_changed_page_brings(self):
        script = "<script>document.title = 'taken'</script></body>"
        start, end = self.make.report(pages.load(REPORTS[0])).rsplit("</body>", 1)
        path = self.make.folder / "changed.html"
        path.write_text(start + script + end, encoding="utf-8")
        self.assertNotIn("<title>taken", browser.chromium("--dump-dom", path.as_uri()))
        path.write_text(re.sub("<meta http-equiv[^>]*>", "", start) + script + end, encoding="utf-8")
        self.assertIn("<title>taken", browser.chromium("--dump-dom", path.as_uri()))

    def test_is_used_by_keyboard(self):
        for (focusable, mouse, scrolling, hidden) in browser.ask(self.each_kind(), """
                return [all('#page button, #page select, #page a[href]').filter(each => each.tabIndex >= 0).length,
                  all('#page [onclick], #page div[tabindex="-1"]').length,
                  all('.wide').filter(each => each.tabIndex !== 0 || !each.getAttribute('aria-label')).length,
                  all('#page button, #page select').filter(each => !each.textContent && !each.getAttribute('aria-label')).length];"""):
            self.assertGreater(focusable, 20)
            self.assertEqual((mouse, scrolling, hidden), (0, 0, 0))

    def test_can_be_read_in_the_light_and_in_the_dark(self):
        question = """
            const context = document.createElement('canvas').getContext('2d');
            const luminance = colour => {
              context.fillStyle = colour;
              context.fillRect(0, 0, 1, 1);
              const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(each => each / 255)
                .map(each => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
              return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            const style = (node, name) => luminance(getComputedStyle(node)[name]);
            const ground = style(document.body, 'backgroundColor');
            return {isDark: ground < 0.1, ink: contrast(style(document.body, 'color'), ground),
              faint: Math.min(...all('.faint').map(each => contrast(style(each, 'color'), ground))),
              words: Math.min(...all('.matrix td a').map(each => contrast(style(each.querySelector('small') ?? each, 'color'),
                style(each.parentNode, 'backgroundColor')))),
              marks: Math.min(...all('.chips .mark').map(each => contrast(style(each, 'stroke'), ground)))};"""
        text = [self.make.report(pages.load(REPORTS[4])), self.make.comparison()]
        for options, is_dark in (((), False), (("--blink-settings=preferredColorScheme=0",), True)):
            for seen in browser.ask(text, question, *options):
                self.assertEqual(seen["isDark"], is_dark)
                self.assertGreaterEqual(seen["ink"], 7.0)  # WCAG 2.1, level AAA
                self.assertGreaterEqual(min(seen["faint"], seen["words"]), 4.5)  # level AA
                self.assertGreaterEqual(seen["marks"], 3.0)  # level AA, of what is no text

    def test_a_variant_looks_the_same_on_every_page(self):
        looks = browser.ask([self.make.report(pages.load(REPORTS[3])), self.make.comparison(),
                             self.make.report(pages.load(REPORTS[4]))], """
            return Object.fromEntries(all('.chips button').map(each => [each.textContent,
              ['class', 'd'].map(name => each.querySelector('path').getAttribute(name))
                .concat(each.querySelector('path').style.getPropertyValue('--h'))]));""")
        self.assertEqual(looks[0], looks[1])
        self.assertEqual(looks[0]["fused"], looks[2]["fused"])
        for look in (looks[0], looks[2]):
            self.assertEqual(len({json.dumps(each) for each in look.values()}), len(look))

    def test_shows_the_tables_without_scripts(self):
        report = pages.load(REPORTS[4])
        answers = browser.ask([self.make.report(report), *self.each_page(), *self.each_page(pages.LONG)], """
            document.getElementById('page').innerHTML = document.querySelector('noscript').textContent;
            const root = document.documentElement;
            return [root.scrollWidth - root.clientWidth, all('td:first-child').length, all('h1').length];""",
                              widths=(360, 1280))
        for overflow, rows, headings in answers:
            self.assertLessEqual(overflow, 0)
            self.assertGreater(rows, 0)
            self.assertEqual(headings, 1)
        self.assertGreaterEqual(answers[0][1], len(report["measurements"]))

    def test_is_printed(self):
        for number, text in enumerate(self.each_kind()):
            path = self.make.folder / f"{number}.html"
            path.write_text(text, encoding="utf-8")
            paper = self.make.folder / "page.pdf"
            browser.chromium("--no-pdf-header-footer", f"--print-to-pdf={paper}", path.as_uri())
            self.assertGreater(paper.stat().st_size, 50_000)  # an empty page has some 10 kB
            printed = paper.read_bytes()
            self.assertEqual(printed[:5], b"%PDF-")
            self.assertIn(len(re.findall(rb"/Type\s*/Page\b", printed)), range(2, 12))


if __name__ == "__main__":
    if browser.CHROMIUM is None:
        print("there is no Chromium: apt-get install chromium", file=sys.stderr)
        if "NF4BENCH_ALL_CONSUMERS" in os.environ:
            sys.exit(1)
    unittest.main()
