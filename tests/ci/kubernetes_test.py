"""Holds scripts/kubernetes to the schemas of Kubernetes, and plays what the pods run on the CPU."""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import kubernetes_validate
    import yaml
except ImportError as error:
    print(f"the schemas are not here ({error}): pip install kubernetes-validate pyyaml", file=sys.stderr)
    sys.exit(77)

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "scripts/kubernetes"
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
OLDEST = "1.29"  # the first that heeds backoffLimitPerIndex unasked


def manifest(name):
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def container_of(job):
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return container


def problem_of(document, version):
    """What the API server of that version would refuse; "" for nothing."""
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return error.message
    return ""


class Manifests(unittest.TestCase):
    def test_fit_the_schemas(self):
        for name in ("sweep.yaml", "merge.yaml"):
            for version in (OLDEST, kubernetes_validate.latest_version()):
                self.assertEqual(problem_of(manifest(name), version), "", (name, version))

    def test_would_not_with_a_mistake(self):
        for change in (lambda job: job["spec"].update(completionsMode="Indexed"),
                       lambda job: job["spec"].update(completions="eight"),
                       lambda job: container_of(job).pop("name"),
                       lambda job: container_of(job)["volumeMounts"][0].update(subPathExpression="x")):
            job = copy.deepcopy(manifest("sweep.yaml"))
            change(job)
            self.assertNotEqual(problem_of(job, OLDEST), "")

    def test_say_the_same_number_of_pods_everywhere(self):
        job = manifest("sweep.yaml")
        spec = job["spec"]
        shard = container_of(job)["args"][container_of(job)["args"].index("--shard") + 1]
        self.assertEqual(shard, f"$(JOB_COMPLETION_INDEX)/{spec['completions']}")
        self.assertEqual(spec["parallelism"], spec["completions"])

    def test_agree_on_where_the_reports_are(self):
        sweep = manifest("sweep.yaml")
        merge = container_of(manifest("merge.yaml"))
        self.assertEqual(merge["volumeMounts"][0]["subPath"], sweep["metadata"]["name"])
        claims = {m["spec"]["template"]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
                  for m in (sweep, manifest("merge.yaml"))}
        self.assertEqual(claims, {"nf4bench-reports"})


class Story(unittest.TestCase):
    """What the containers would do, with a small shape on the CPU instead of a model on a GPU."""

    def run_pod(self, container, environment):
        def expanded(text):  # as the kubelet does
            return re.sub(r"\$\((\w+)\)", lambda name: environment[name[1]], text)

        words = [expanded(word) for word in container["command"] + container["args"]]
        for model, small in (("--preset", "--shape"), ("llama-3.1-8b", "64x64"), ("cuda:0", "cpu")):
            words = [small if word == model else word for word in words]
        words = [word.replace("/reports", self.reports) for word in words]
        with tempfile.TemporaryDirectory() as tools:
            os.symlink(PROGRAM, pathlib.Path(tools, "nf4bench"))
            return subprocess.run(words, capture_output=True, text=True, check=False, env={
                **os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "NF4BENCH_RUN_MAX_TIME": "0.02",
                "NF4BENCH_RUN_NO_CEILINGS": "1", "NF4BENCH_RUN_CACHE": "hot", "NF4BENCH_RUN_VARIANT": "simd",
                **environment})

    def test_pods_measure_and_merge_names_the_one_that_is_missing(self):
        sweep = manifest("sweep.yaml")
        with tempfile.TemporaryDirectory() as self.reports:
            for index in range(sweep["spec"]["completions"]):
                if index == 5:
                    continue
                pod = self.run_pod(container_of(sweep), {"JOB_COMPLETION_INDEX": str(index)})
                self.assertEqual(pod.returncode, 0, pod.stderr)
            merge = self.run_pod(container_of(manifest("merge.yaml")), {})
            self.assertEqual(merge.returncode, 1, merge.stderr)
            self.assertIn("missing: shard 5 of 8", merge.stderr)
            fleet = json.loads(pathlib.Path(self.reports, "fleet.json").read_text(encoding="utf-8"))
            self.assertEqual(len(fleet["groups"][0]["units"]), 7)


if __name__ == "__main__":
    unittest.main(verbosity=2)
