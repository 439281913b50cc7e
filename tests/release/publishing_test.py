"""Holds what publishes the program to it: the commit in sources."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def call(*words, **options):
    return subprocess.run([str(each) for each in words], capture_output=True, text=True, timeout=60, **options)


class Checkout(unittest.TestCase):
    """A checkout with a few of the files, in one commit."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in (".gitattributes", "src/report/commit.txt", "src/report/write_git_version.cmake"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        result = call("git", "-c", "user.name=test", "-c", "user.email=test@example.org", *words, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "test")


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


if __name__ == "__main__":
    unittest.main()
