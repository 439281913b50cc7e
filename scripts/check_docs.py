#!/usr/bin/env python3
"""Runs every command that the pages of the checkout and the program's own help show, and follows every link.

In Markdown, commands are the lines of code fences marked sh. What is done with each kind:
  ./build/nf4bench ...    run with the given binary, in a scratch folder that holds data/ and the Python examples
  ./scripts/..., ./.ci/run, cmake, ctest, git, cd, ...   checked: the script or the preset exists
A fence marked "sh gpu" needs a GPU: its nf4bench commands are only checked for options that exist.
A run on the CPU device is made short by --max-time 0.03, and its preset replaced by a small shape; a try likewise.
Reports that a "compare", "history", "merge", "site" or "export" reads and that no command before it wrote are supplied,
and stored as the baseline "main"; its verdict on such short runs is noise and may be any.
Tables between "made by: COMMAND" and "made", in comments, are what the command prints in the folder of their page;
--write makes them anew.
Links of all pages are followed within the checkout: the file and the heading must exist.
Prints what failed, then counts. Exit code 1 when a command or a link failed or no command was found.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY_AS_SHOWN = "./build/nf4bench"
# Parts of a shell line that end one command and start the next.
SEPARATORS = {"&&", "|", ";", "||"}
MADE = re.compile(r"(<!-- made by: (.+?) -->\n\n).*?(<!-- made -->)", re.DOTALL)
TIME_LIMIT_S = 120
# What "compare" may say of two runs (nothing changed, the gate failed, not sure), "doctor" of a
# machine, "fleet" of a few.
VERDICT_CODES = {0, 1, 6}


def fences(path):
    """Yields (line number, info words, text) of each fenced code block in a Markdown file."""
    info, first, lines = None, 0, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            if info is None:
                info, first, lines = line[3:].split(), number + 1, []
            else:
                yield first, info, lines
                info = None
        elif info is not None:
            lines.append(line)
    if info is not None:
        sys.exit(f"{path}: the fence that opens in line {first - 1} never closes")


def without_fences(path):
    """The text of a Markdown file but for its fenced code blocks."""
    return re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors_of(path):
    """What links to the headings of a Markdown file end in, as GitHub derives it."""
    headings = re.findall(r"^#+ +(.*)$", without_fences(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path):
    """Yields each link of a Markdown file that leads to no file or heading of the checkout."""
    for link in re.findall(r"\]\(([^)\s]+)\)", without_fences(path)):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if re.match(r"\w+:", link):
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            yield link


def with_tables(path, binary):
    """The text of a Markdown file with its tables made anew."""
    def made(match):
        command = re.sub(r"\bnf4bench\b", lambda _: shlex.quote(binary), match[2])
        printed = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=path.parent, check=True,
                                 stdout=subprocess.PIPE, text=True, timeout=TIME_LIMIT_S).stdout.strip("\n")
        return f"{match[1]}{printed}\n\n{match[3]}"
    return MADE.sub(made, path.read_text(encoding="utf-8"))


def commands_of(path):
    """Yields (line number, command, needs_gpu); lines that end in a backslash are joined."""
    for first, info, lines in fences(path):
        if not info or info[0] != "sh":
            continue
        joined, start = "", first
        for number, line in enumerate(lines, first):
            text = line.strip()
            start = start if joined else number
            joined += text.removesuffix("\\")
            if text.endswith("\\"):
                continue
            if joined and not joined.startswith("#"):
                yield start, joined, "gpu" in info[1:]
            joined = ""


def commands_of_help(text):
    """Yields the examples of a help text: lines that are indented and start with nf4bench."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("    nf4bench "):
            yield line.strip().replace("nf4bench", BINARY_AS_SHOWN, 1)


def split_simple_commands(command):
    """The words of each simple command in a shell line, comments and redirections kept out."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    simple = [[]]
    for word in lexer:
        if word in SEPARATORS:
            simple.append([])
        else:
            simple[-1].append(word)
    return [words for words in simple if words]


class Checker:
    """Checks commands one after another, all in the folder `scratch`."""

    def __init__(self, binary, scratch):
        self.binary = binary
        self.scratch = scratch
        self.help = {}
        self.counts = {"run": 0, "checked": 0, "for a GPU": 0}
        presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
        self.presets = {p["name"] for p in presets["configurePresets"] if not p.get("hidden")}

    def run(self, text):
        environment = dict(os.environ, NO_COLOR="1")
        environment.pop("NF4BENCH_FUSED", None)
        return subprocess.run(["bash", "-o", "pipefail", "-c", text], cwd=self.scratch,
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=TIME_LIMIT_S)

    def help_of(self, subcommand):
        if subcommand not in self.help:
            whole = ["--help-all"] if subcommand == "run" else ["--help"]
            words = [self.binary] + ([subcommand] if subcommand else []) + whole
            self.help[subcommand] = self.run(shlex.join(words)).stdout
        return self.help[subcommand]

    def sample_report(self):
        """A report of a short run, made when first asked for; also the baseline "main"."""
        path = self.scratch / "sample-report.json"
        if not path.exists():
            self.run(f"{shlex.quote(self.binary)} run --device cpu --shape 256x512 --cache hot "
                     f"--no-ceilings --max-time 0.2 --json {path} --quiet")
            self.run(f"{shlex.quote(self.binary)} compare {path} --save-baseline main")
        return path

    def supply_reports(self, words):
        """Puts a report wherever the words of a command that reads some say that there is one."""
        if words[1:2] not in (["compare"], ["check"], ["site"], ["history"], ["export"], ["merge"]):
            return
        # A page leaves out what "check" refuses, such as reports of a build without a commit.
        report = ROOT / "docs/results/h200/plain.json" if words[1] == "site" else self.sample_report()
        for before, word in zip(words[1:], words[2:]):
            path = self.scratch / word
            if before == "-o":
                continue  # a report is not overwritten by what is made of it
            if before == "--expect":
                path.write_text("node0\n", encoding="utf-8")
            elif word.endswith(".json") and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(report, path)
            elif word.endswith("/") and not path.exists():
                path.mkdir(parents=True)
                for run in range(4):
                    shutil.copy(report, path / f"{run}.json")

    def check_options(self, words):
        """Problem with the spelling of an nf4bench command, or None."""
        subcommand = words[1] if len(words) > 1 and not words[1].startswith("-") else ""
        text = self.help_of(subcommand)
        if not text:
            return f"there is no command {subcommand}"
        for word in words[1:]:
            option = word.split("=")[0]
            if option.startswith("--") and not re.search(re.escape(option) + r"(?![\w-])", text):
                return f"{subcommand} has no option {option}"
        return None

    def shortened(self, command):
        """`command` with the built binary; a benchmark made short and kept off any GPU."""
        if re.search(r"nf4bench run\b(?!.*--help)", command):
            command = re.sub(r"--preset[ =]\S+", "--shape 256x512", command)
            command = re.sub(r"--max-time[ =]\S+", "", command)
            command = re.sub(r"--device[ =]\S+", "", command)
            command = command.replace("nf4bench run",
                                      "nf4bench run --device cpu --max-time 0.03 --min-samples 6 "
                                      "--no-ceilings", 1)
        if re.search(r"nf4bench try\b(?!.*--help)", command):
            shape = "" if "--shape" in command else "--shape 256x512 "
            command = command.replace("nf4bench try", f"nf4bench try {shape}--max-time 0.03", 1)
        return command.replace(BINARY_AS_SHOWN, shlex.quote(self.binary))

    def check_other(self, words, needs_gpu):
        """Problem with a command that is not ours to run, or None."""
        name = words[0]
        if name.startswith("./") or name.startswith(".ci/"):
            path = ROOT / name
            return None if os.access(path, os.X_OK) else f"{name} is no program of the checkout"
        presets = [w.split("=")[1] for w in words if w.startswith("--preset=")]
        presets += [b for a, b in zip(words, words[1:]) if a == "--preset"]
        for preset in presets:
            if preset not in self.presets:
                return f"CMakePresets.json has no preset {preset}"
        is_known = needs_gpu or name in ("cd", "export", "git", "sudo") or shutil.which(name)
        return None if is_known else f"{name} is not a program here"

    def check(self, command, needs_gpu):
        """Problem with a documented command, or None."""
        ours = [words for words in split_simple_commands(command) if words[0] == BINARY_AS_SHOWN]
        if not ours:
            self.counts["for a GPU" if needs_gpu else "checked"] += 1
            return self.check_other(split_simple_commands(command)[0], needs_gpu)
        for words in ours:
            problem = self.check_options(words)
            if problem:
                return problem
        if needs_gpu:
            self.counts["for a GPU"] += 1
            return None
        self.counts["run"] += 1
        for words in ours:
            self.supply_reports(words)
        result = self.run(self.shortened(command))
        judges = ours[-1][1:2] in (["compare"], ["check"], ["doctor"], ["fleet"])
        if result.returncode in (VERDICT_CODES if judges else {0}):
            return None
        last = (result.stderr.strip() or result.stdout.strip() or "no output").splitlines()[-1]
        return f"exit code {result.returncode}: {last}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", help="the nf4bench to run the commands with")
    parser.add_argument("--write", action="store_true", help="make the tables of the pages anew, and no more")
    arguments = parser.parse_args()
    binary = str(pathlib.Path(arguments.binary).resolve(strict=True))
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md")), ROOT / "data/README.md"]
    if arguments.write:
        for path in pages:
            path.write_text(with_tables(path, binary), encoding="utf-8")
        return 0

    failures = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        # A copy: commands of the documentation may write beside what they read.
        for folder in ("data", "docs/examples/python", "docs/examples/try", "docs/results/h200-x4"):
            shutil.copytree(ROOT / folder, scratch / folder)
        checker = Checker(binary, scratch)
        for path in pages:
            if with_tables(path, binary) != path.read_text(encoding="utf-8"):
                failures += 1
                print(f"{path.relative_to(ROOT)}: a table is not what its command prints; --write makes it anew")
            for link in broken_links(path):
                failures += 1
                print(f"{path.relative_to(ROOT)}: {link} leads nowhere")
            for line, command, needs_gpu in commands_of(path):
                problem = checker.check(command, needs_gpu)
                if problem:
                    failures += 1
                    print(f"{path.relative_to(ROOT)}:{line}: {command}\n  {problem}")
        for subcommand in re.findall(r"^  ([a-z]+) {2,}", checker.help_of(""), re.MULTILINE):
            for command in commands_of_help(checker.help_of(subcommand)):
                problem = checker.check(command, False)
                if problem:
                    failures += 1
                    print(f"help of {subcommand}: {command}\n  {problem}")
    counts = checker.counts
    print(f"documented commands: {counts['run']} run, {counts['checked']} checked only, "
          f"{counts['for a GPU']} for a GPU checked only, {failures} failed")
    return 1 if failures or counts["run"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
