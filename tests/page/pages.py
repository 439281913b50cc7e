"""The pages that are looked at: of reports, of comparisons, of a fleet and of a folder of reports."""

import copy
import json
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
H200 = ROOT / "docs/results/h200"

# Markup in every way that a stranger may try.
ATTACK = "</title></select></style></noscript></script><!--<script><script>document.title='taken'</script>" \
    "\"'><img src=x onerror=\"document.title='taken'\"><svg onload=\"document.title='taken'\">" \
    "<text style=\"fill:red\">\u202egnp.exe\u2066 \u2028 \u0085 &amp; javascript:alert(1)"
LONG = "a_name_without_a_blank" * 10

# What readers of these files want in these words alone.
CLOSED = ("schema", "schema_version", "kind", "dtype", "sha256", "operation", "output_dtype",
          "cache", "caches", "launch", "launches", "verify", "status", "stopped_by", "bound", "operations")


def with_strings(value, text):
    """`value` with `text` behind every string that a stranger may choose."""
    if isinstance(value, str):
        return value + text
    if isinstance(value, list):
        return [with_strings(each, text) for each in value]
    if isinstance(value, dict):
        return {key: each if key in CLOSED else with_strings(each, text) for key, each in value.items()}
    return value


def load(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def slow_down(row, factor):
    """Makes the samples of a row `factor` times as long, and what they say."""
    row["samples_s"] = [factor * sample for sample in row["samples_s"]]
    if row["time_s"]:
        row["time_s"] = {name: [factor * end for end in value] if isinstance(value, list) else value and factor * value
                         for name, value in row["time_s"].items()}


def counters(read, written):
    """What a profiler counts of a call that moves that many bytes from and to the memory."""
    unknown = ("seconds", "dram_fraction", "l2_fraction", "l2_hit_fraction", "shared_conflicts", "shared_wavefronts",
               "issue_fraction", "tensor_fraction", "alu_fraction", "warps_fraction", "instructions", "issue_cycles")
    return {**dict.fromkeys(unknown), "kernels": 1, "dram_bytes_read": read, "dram_bytes_written": written,
            "stalls": [], "limit": "unknown", "judgement": "nothing conclusive", "unavailable": None}


class Maker:
    """Writes files into `folder` and has `program` make pages of them."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def write(self, name, document, indent=None):
        path = self.folder / name
        path.write_text(json.dumps(document, indent=indent), encoding="utf-8")
        return str(path)

    def run(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, check=False)
        assert done.stdout, done.stderr
        return done.stdout.decode("utf-8")

    def report(self, report, text=""):
        return self.run("export", self.write("report.json", with_strings(report, text)), "--to", "html")

    def comparison(self, form="html", text=""):
        """A run against one in which two cells are slower, two faster, one failed and one missing."""
        base, fresh = load(H200 / "llama-3.1-8b.json"), load(H200 / "llama-3.1-8b-again.json")
        for row in fresh["measurements"]:
            slow = row["variant"] == "fused" and row["tensor"] in ("t0", "t2")
            fast = row["variant"] == "lut_register" and row["tensor"] in ("t0", "t1")
            slow_down(row, 1.09 if slow else 0.93 if fast else 1.0)
            if row["variant"] == "select_tree" and row["tensor"] == "t3":
                row.update(status="failed", reason="12 elements differ")
        fresh["measurements"] = [row for row in fresh["measurements"]
                                 if (row["variant"], row["tensor"]) != ("cache_hints", "t1")]
        words = ["compare", self.write("base.json", with_strings(base, text)),
                 self.write("new.json", with_strings(fresh, text)), "--gate"]
        return self.run(*words, *(["--json"] if form == "json" else ["--format", form]))

    def fleet(self, form="html", text=""):
        """Twelve units: one is slow, one did not end, one had a wrong output, one has another driver."""
        reports = self.folder / "reports"
        reports.mkdir(exist_ok=True)
        golden = load(H200 / "geometries-one-board.json")
        for number in range(12):
            report = copy.deepcopy(golden)
            report["device"]["uuid"] = f"GPU-{number:08x}-8b7f-5d2c-9f57-2f4c7b1f7a10"
            report["complete"] = number != 4
            report["shard"] = {"index": number, "count": 13, "split": False, "from": "--shard"}
            if number == 5:
                report["device"]["driver"] = "1.0"
            if number == 6:
                report["measurements"][3].update(status="failed", reason="12 elements differ")
            for row in report["measurements"] if number == 3 else ():
                slow_down(row, 1.08)
            self.write(f"reports/{number}.json", report)
        fleet = self.folder / "fleet.json"
        subprocess.run([self.program, "merge", str(reports), "-o", str(fleet), "--force"], capture_output=True,
                       check=False)
        path = self.write("fleet.json", with_strings(load(fleet), text))
        return self.run("fleet", path, "--gate", *(["--json"] if form == "json" else ["--format", form]))

    def site(self, text=""):
        """The page of a card with two boards, and that of all cards, where one report is refused."""
        sent = self.folder / "sent"
        sent.mkdir(exist_ok=True)
        for name in ("one-board", "other-board"):
            report = load(H200 / f"geometries-{name}.json")
            report["device"]["name"] += text
            report["host"]["name"] += text
            self.write(f"sent/{name}.json", report, indent=2)
        self.write("sent/tampered.json", with_strings(load(H200 / "plain.json"), text or "?"), indent=2)
        out = self.folder / "site"
        done = subprocess.run([self.program, "site", str(sent), "-o", str(out)], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        index = (out / "index.html").read_text(encoding="utf-8")
        [card] = [path for path in out.iterdir() if path.name != "index.html"]
        card = card.read_text(encoding="utf-8")
        shutil.rmtree(out)
        return [card, index]
