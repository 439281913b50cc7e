"""Holds what publishes the program to it: scripts/release, its workflow, the image, and the commit in sources.

Usage: publishing_test.py PATH_OF_NF4BENCH
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)
IMAGE = (ROOT / "scripts/kubernetes/Dockerfile").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")


def call(*words, **options):
    return subprocess.run([str(each) for each in words], capture_output=True, text=True, timeout=60, **options)


class Checkout(unittest.TestCase):
    """A checkout with a few of the files, in one commit."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("scripts/release", "scripts/common.sh", "CMakeLists.txt", ".gitattributes",
                     "src/report/commit.txt", "src/report/write_git_version.cmake"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        (self.folder / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- What is new.\n", encoding="utf-8")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        result = call("git", "-c", "user.name=test", "-c", "user.email=test@example.org", *words, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "test")


class Release(Checkout):
    def refusal(self, *options, path="/usr/bin:/bin"):
        # Whatever gets as far as asking this Python for packages was not refused before.
        result = call("scripts/release", "../never", "--roots", "", *options, cwd=self.folder,
                      env={"PATH": path, "PYTHON": "false"})
        self.assertNotEqual(result.returncode, 0)
        return result.stderr

    def test_refuses_what_is_in_no_commit(self):
        (self.folder / "new").touch()
        self.assertIn("in no commit", self.refusal())

    def test_refuses_a_tag_of_another_version(self):
        self.assertIn("the tag is v9.9", self.refusal("--tag", "v9.9"))

    def test_refuses_a_tag_without_its_section_of_the_changelog(self):
        version = re.search(r"nf4bench VERSION ([0-9.]+)", (self.folder / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        tag = ("--tag", "v" + version)
        self.assertIn(f'nothing under "## {version}"', self.refusal(*tag))
        changelog = self.folder / "CHANGELOG.md"
        changelog.write_text(f"## {version}\n\n## 0.0.1\n\n- Of long ago.\n", encoding="utf-8")
        self.commit()
        self.assertIn(f'nothing under "## {version}"', self.refusal(*tag))
        changelog.write_text(f"## {version}\n\n- New.\n", encoding="utf-8")
        self.commit()
        self.assertIn("false has no build", self.refusal(*tag))
        self.assertIn("false has no build", self.refusal())

    def test_refuses_aarch64_where_it_cannot_be_made(self):
        with tempfile.TemporaryDirectory() as programs:
            def says(name, answer):
                program = pathlib.Path(programs, name)
                program.write_text(f"#!/bin/sh\necho {answer}\n", encoding="utf-8")
                program.chmod(0o755)

            def refusal():
                return self.refusal("--aarch64", path=programs)

            for name in ("awk", "bash", "dirname", "env", "false", "git", "grep", "ls", "sed"):
                os.symlink(shutil.which(name), pathlib.Path(programs, name))
            says("uname", "aarch64")
            says("id", "1000")
            self.assertIn("--aarch64 is for x86_64", refusal())
            says("uname", "x86_64")
            for name in ("aarch64-linux-gnu-g++", "qemu-aarch64", "mmdebstrap"):
                self.assertIn(f"--aarch64 needs {name};", refusal())
                says(name, "")
            self.assertIn("--aarch64 needs root", refusal())
            says("id", "0")
            self.assertIn("false has no build", refusal())

    def test_refuses_a_folder_that_holds_something(self):
        result = call(ROOT / "scripts/release", ROOT / "tests")
        self.assertIn("is not empty", result.stderr)

    def test_knows_the_options_that_the_workflow_gives(self):
        options = set(re.findall(r" (--[a-z0-9]+)", "\n".join(re.findall(r"scripts/release .*|options: --.*", WORKFLOW))))
        script = (ROOT / "scripts/release").read_text(encoding="utf-8")
        known = set(re.findall(r"^ +(--[a-z0-9]+)\)", script, re.MULTILINE))
        self.assertEqual(options & known, {"--aarch64", "--cuda", "--tag"})
        self.assertLessEqual(options - {"--privileged"}, known)


    def test_is_not_sent_to_pypi_with_a_local_version(self):
        wheels = [f"nf4bench-1.0{local}-py3-none-manylinux_2_36_{machine}.whl"
                  for local in ("", "+cpu") for machine in ("x86_64", "aarch64")]
        (self.folder / "files").mkdir()
        for name in (*wheels, "nf4bench-1.0.tar.gz", "nf4bench-1.0-linux-x86_64.tar.gz"):
            (self.folder / "files" / name).touch()
        command = re.search(r"Choose what PyPI takes\n +run: >-\n(( {10}.*\n)+)", WORKFLOW)[1]
        result = call("sh", "-c", " ".join(command.split()), cwd=self.folder,
                      env={"PATH": "/usr/bin:/bin", "GITHUB_REF_NAME": "v1.0"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual({each.name for each in (self.folder / "dist").iterdir()}, {*wheels[:2], "nf4bench-1.0.tar.gz"})


@unittest.skipUnless((ROOT / ".git").exists(), "these sources are an archive")
class Commit(Checkout):
    def known_to(self, sources):
        header = self.folder / "git_version.hpp"
        result = call("cmake", f"-DSOURCE_DIR={sources}", f"-DOUTPUT={header}", "-P",
                      sources / "src/report/write_git_version.cmake")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = header.read_text(encoding="utf-8")
        header.unlink()
        return re.search(r'kGitCommit\[\] = "(.*)"', text)[1], re.search("kGitDirty = (.*);", text)[1]

    def test_is_known_in_an_archive(self):
        archive = self.folder / "archive"
        archive.mkdir()
        tar = subprocess.run(["git", "archive", "HEAD"], cwd=self.folder, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", archive], input=tar, check=True)
        head = self.git("rev-parse", "HEAD")
        self.assertEqual(self.known_to(archive), (head, "false"))
        self.assertEqual(self.known_to(self.folder), (head, "false"))

    def test_is_unknown_in_a_copy(self):
        shutil.rmtree(self.folder / ".git")
        self.assertEqual(self.known_to(self.folder), ("", "false"))


class Image(unittest.TestCase):
    def test_has_what_the_program_is_linked_with(self):
        packages = re.search(r"install -y --no-install-recommends (.*?) \\", IMAGE)[1].split()
        from_base = {"linux-vdso", "libm", "libc", "libgcc_s", "libstdc++"}
        direct = re.findall(r"NEEDED.*\[(\S+?)[.]so", call("readelf", "--dynamic", PROGRAM).stdout)
        for library in set(direct) - from_base - {"ld-linux-x86-64", "ld-linux-aarch64"}:
            word = {"libcrypto": "libssl"}.get(library, library)
            self.assertTrue([each for each in packages if each.startswith(word)], f"the image has no {library}")

    def test_gives_cmake_options_that_there_are(self):
        cmake = "".join(each.read_text(encoding="utf-8") for each in (ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake")))
        for option in re.findall(r"-D(NF4BENCH_\w+)", IMAGE):
            self.assertRegex(cmake, rf"(option|set)\({option}\b")
        for script in re.findall(r"\bscripts/setup\b", IMAGE):
            self.assertTrue((ROOT / script).is_file())

    def test_has_the_name_that_the_manifests_ask_for(self):
        for name in ("sweep", "merge"):
            manifest = (ROOT / f"scripts/kubernetes/{name}.yaml").read_text(encoding="utf-8")
            self.assertIn(re.search(r"image: (\S+)", manifest)[1], IMAGE)


if __name__ == "__main__":
    unittest.main()
