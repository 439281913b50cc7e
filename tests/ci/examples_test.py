"""Plays the CI examples of docs/examples/ci on the CPU device.

The shell lines come from the YAML files, as their runners would run them. Beside the program stand
stand-ins: "./build/nf4bench run" measures a small shape on the CPU the first time, and then hands
out that report with its times scaled, so that a slower build looks the same on every machine;
cmake, gh and curl only write down what they were asked for. compare is the real one.
"""

import argparse
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("there is no PyYAML: apt-get install python3-yaml", file=sys.stderr)
    sys.exit(1 if "NF4BENCH_ALL_CONSUMERS" in os.environ else 77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs/examples/ci"
TIME_LIMIT_S = 60

STAND_IN = """#!/bin/bash
if [ "$1" != run ]; then exec "$REAL" "$@"; fi
exec python3 "$PLAY/measure.py" "$@"
"""

MEASURE = """
import json, os, pathlib, subprocess, sys
arguments = sys.argv[1:]
assert arguments[:1] == ["run"] and "--quiet" in arguments, arguments
assert arguments.index("--preset") and arguments[arguments.index("--device") + 1] == "cuda"
target = arguments[arguments.index("--json") + 1]
first = pathlib.Path(os.environ["PLAY"], "first.json")
if not first.exists():
    subprocess.run([os.environ["REAL"], "run", "--shape", "64x64", "--device", "cpu", "--quiet",
                    "--no-ceilings", "--max-time", "0.05", "--json", str(first)], check=True)
report = json.loads(first.read_text())
for row in report["measurements"]:
    row["load"] = None  # other tests may run beside this one
counter = pathlib.Path(os.environ["PLAY"], "count")
count = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(count))
report["started_at"] = f"2026-01-01T00:00:{count:02}Z"
factor = float(os.environ["SLOWDOWN"])
for each in report["measurements"]:
    each["samples_s"] = [factor * s for s in each["samples_s"]]
    each["time_s"] = {k: [factor * x for x in v] if isinstance(v, list) else v and factor * v
                      for k, v in each["time_s"].items()}
pathlib.Path(target).write_text(json.dumps(report))
"""

RECORDER = """#!/bin/bash
printf '%s\\n' "$(basename "$0") $*" >> "$PLAY/calls"
"""


class Workspace:
    """A checkout that holds nothing but a stand-in for the program, and a runner's own files."""

    def __init__(self, folder, binary):
        self.folder = pathlib.Path(folder)
        self.work = self.folder / "work"
        (self.work / "build").mkdir(parents=True)
        (self.folder / "bin").mkdir()
        (self.folder / "measure.py").write_text(MEASURE)
        self.program(self.work / "build/nf4bench", STAND_IN)
        for name in ("cmake", "gh", "curl"):
            self.program(self.folder / "bin" / name, RECORDER)
        self.environment = dict(
            os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}", PLAY=str(self.folder),
            REAL=str(binary), GITHUB_STEP_SUMMARY=str(self.folder / "summary.md"),
            PULL_REQUEST="17", CI_API_V4_URL="https://gitlab.example/api/v4", CI_PROJECT_ID="5",
            CI_MERGE_REQUEST_IID="17", NOTE_TOKEN="secret", NO_COLOR="1")

    @staticmethod
    def program(path, text):
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def clean(self):
        """A fresh checkout: what a job left in the workspace is gone."""
        for path in self.work.glob("*.*"):
            path.unlink()

    def run(self, script, variables, slowdown):
        environment = dict(self.environment, SLOWDOWN=str(slowdown), **variables)
        environment["BASELINES"] = str(self.folder / "baselines")
        return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
                              cwd=self.work, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=TIME_LIMIT_S)

    def comment(self):
        path = self.work / "comment.md"
        return path.read_text() if path.exists() else ""

    def calls(self):
        path = self.folder / "calls"
        text = path.read_text() if path.exists() else ""
        path.unlink(missing_ok=True)
        return text


def expect(condition, message):
    if not condition:
        raise SystemExit(f"failed: {message}")


def load(name):
    # YAML 1.1 reads the key "on" as true.
    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


def github_job(event):
    """The steps of the job that an event starts, as a function of workspace and slowdown."""
    job = load("github.yml")["jobs"]["gate"]
    steps = [s for s in job["steps"] if "run" in s]

    def play(workspace, slowdown):
        """The exit code of the first step that fails, and all that was said."""
        code, said = 0, ""
        for step in steps:
            condition = step.get("if", "")
            if "event_name" in condition and f"'{event}'" not in condition:
                continue
            if code and "always()" not in condition:
                continue
            result = workspace.run(step["run"], job["env"], slowdown)
            said += result.stderr
            code = code or result.returncode
        return code, said
    return play


def gitlab_job(name):
    pipeline = load("gitlab.yml")
    job = pipeline[name]

    def play(workspace, slowdown):
        result = workspace.run("\n".join(pipeline["build"]["script"] + job["script"]),
                               pipeline["variables"], slowdown)
        after = workspace.run("\n".join(job.get("after_script", [])), pipeline["variables"],
                              slowdown)
        return result.returncode, result.stderr + after.stderr
    return play


def play_story(name, baseline, gate, comment_call, binary):
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(folder, binary)
        code, said = gate(workspace, 1.0)
        expect(code == 7, f"{name}: without a baseline the gate ends with {code}, not 7: {said}")
        expect(comment_call not in workspace.calls(), f"{name}: there was nothing to comment")

        workspace.clean()
        code, said = baseline(workspace, 1.0)
        expect(code == 0, f"{name}: the baseline job ends with {code}: {said}")
        expect("cmake --build build" in workspace.calls(), f"{name}: nothing was built")
        stored = sorted(p.name for p in (workspace.folder / "baselines").glob("*/main/*"))
        expect(len(stored) == 3, f"{name}: the baseline holds {stored}, not three runs")

        workspace.clean()
        code, said = gate(workspace, 2.0)
        expect(code == 1, f"{name}: a slower build ends with {code}, not 1: {said}")
        expect("SLOWER" in workspace.comment(), f"{name}: no SLOWER in {workspace.comment()}")
        expect("confirming" in said, f"{name}: failed without a confirming run")
        expect(comment_call in workspace.calls(), f"{name}: the failure was not commented")

        workspace.clean()
        code, said = gate(workspace, 1.0)
        expect(code == 0, f"{name}: the repaired build ends with {code}: {said}")
        expect("SAME" in workspace.comment(), f"{name}: no SAME in {workspace.comment()}")
        expect(comment_call in workspace.calls(), f"{name}: the pass was not commented")


def check_structure():
    github = load("github.yml")
    job = github["jobs"]["gate"]
    expect("self-hosted" in job["runs-on"], "github.yml: not on a self-hosted runner")
    expect(job["concurrency"]["cancel-in-progress"] is False, "github.yml: jobs cancel each other")
    expect(set(github[True]) == {"push", "pull_request"}, "github.yml: other events")
    expect(job["defaults"]["run"]["shell"] == "bash", "github.yml: a shell without pipefail")
    for step in job["steps"]:
        expect(("uses" in step) != ("run" in step), f"github.yml: {step} is no step")
    gitlab = load("gitlab.yml")
    for name in ("baseline", "gate"):
        template = gitlab[gitlab[name]["extends"]]
        expect(template["resource_group"], f"gitlab.yml: {name} shares its GPU")
        expect(gitlab[name]["rules"] and gitlab[name]["script"], f"gitlab.yml: {name} is no job")
        expect(template["stage"] in gitlab["stages"], f"gitlab.yml: {name} has no stage")


def check_schemas():
    """Validates with the schemas that check-jsonschema brings along; False without it."""
    try:
        import check_jsonschema  # noqa: F401
    except ImportError:
        return False
    for schema, file in (("github-workflows", EXAMPLES / "github.yml"), ("gitlab-ci", EXAMPLES / "gitlab.yml"),
                         ("github-workflows", ROOT / ".github/workflows/release.yml")):
        subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema",
                        f"vendor.{schema}", str(file)], check=True, timeout=TIME_LIMIT_S)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", help="the nf4bench to play with")
    binary = pathlib.Path(parser.parse_args().binary).resolve(strict=True)
    check_structure()
    has_schemas = check_schemas()
    play_story("github.yml", github_job("push"), github_job("pull_request"), "gh pr comment",
               binary)
    play_story("gitlab.yml", gitlab_job("baseline"), gitlab_job("gate"), "curl --fail", binary)
    print("both CI examples fail on a slowdown and pass without; schemas "
          + ("checked" if has_schemas else "not checked: there is no check-jsonschema"))


if __name__ == "__main__":
    main()
