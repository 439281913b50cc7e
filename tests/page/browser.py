"""Headless Chromium, to be asked what it shows of a page."""

import base64
import hashlib
import html
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)

# Stands first in the page, so that it hears every error.
LISTENER = """
const faults = [];
window.addEventListener('error', event => faults.push(String(event.message)));
document.addEventListener('securitypolicyviolation', event => faults.push(event.violatedDirective));
"""

# Stands last: answers a question, the body of a function, and sends what it found.
PROBE = """
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const later = () => new Promise(done => setTimeout(done, 20));
const pick = async hash => { location.hash = hash; await later(); };
const press = async node => { node.focus(); node.click(); await later(); };
(async () => {
  await later();
  let answer = null;
  try { answer = await (async () => { %s })(); } catch (error) { faults.push(String(error.stack)); }
  parent.postMessage(JSON.stringify({answer, faults}), '*');
})();
"""

# Windows of any width: Chromium's own are 500 pixels wide at least.
FRAMES = """<!DOCTYPE html><pre id="seen"></pre><script>
const found = {};
addEventListener('message', event => {
  const index = [...document.querySelectorAll('iframe')].findIndex(each => each.contentWindow === event.source);
  found[index] = JSON.parse(event.data);
  document.getElementById('seen').textContent = JSON.stringify(found);
});
</script>"""


def source_of(text):
    """How a policy names an inline script or style."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


PROFILE = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with


def chromium(*arguments):
    """What headless Chromium prints."""
    result = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", f"--user-data-dir={PROFILE.name}", *arguments],
        capture_output=True, timeout=120, check=True)
    return result.stdout.decode("utf-8", "replace")


def ask(pages, question, *options, widths=(1280,), fragments=("",)):
    """The answers to `question`, JavaScript that returns something, of each page at each width and
    with each fragment of the address.

    Pages are texts. Fails when a script of one fails, or what its policy forbids was tried.
    """
    probe = PROBE % question
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        frames = FRAMES
        for number, page in enumerate(pages):
            page = page.replace("script-src ", f"script-src {source_of(LISTENER)} {source_of(probe)} ", 1)
            page = page.replace("<title>", f"<script>{LISTENER}</script><title>", 1)
            start, end = page.rsplit("</body>", 1)
            (folder / f"{number}.html").write_text(f"{start}<script>{probe}</script></body>{end}", encoding="utf-8")
            for width, fragment in itertools.product(widths, fragments):
                frames += (f'<iframe src="{number}.html{fragment}" '
                           f'style="width: {width}px; height: 900px; border: 0"></iframe>')
        (folder / "frames.html").write_text(frames, encoding="utf-8")
        dom = chromium("--window-size=1280,900", "--virtual-time-budget=20000", *options, "--dump-dom",
                       (folder / "frames.html").as_uri())
    found = json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)[1]) or "{}")
    answers = [found[str(index)] for index in range(len(pages) * len(widths) * len(fragments))]
    faults = [fault for answer in answers for fault in answer["faults"]]
    assert not faults, faults
    return [answer["answer"] for answer in answers]
