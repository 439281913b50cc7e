#!/usr/bin/env python3
"""What an installation of libnf4 is worth to others: found by CMake and by pkg-config from wherever it
was moved to, in C99 and in C++11, shared and static, and by the code that docs/libnf4.md shows.

    install_test.py CMAKE BUILD [FOLDER_OF_CUDART]
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CMAKE, BUILD = sys.argv[1:3]
CUDART = sys.argv[3] if len(sys.argv) > 3 else ""
PRINTED = "2.5 -2.5 10000\n"


def run(*command, **options):
    """The output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


class Installation(unittest.TestCase):
    """One, which has been moved after it was made."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp())
        made = cls.scratch / "made"
        run(CMAKE, "--install", BUILD, "--prefix", made)
        cls.prefix = cls.scratch / "moved here"
        made.rename(cls.prefix)
        cls.lib_folder = next(cls.prefix.rglob("libnf4.so")).parent
        cls.environment = {
            **os.environ,
            "PKG_CONFIG_PATH": str(cls.lib_folder / "pkgconfig"),
            "LD_LIBRARY_PATH": str(cls.lib_folder),
            "LIBRARY_PATH": CUDART,
        }

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    def configure(self, folder, version):
        return run(CMAKE, "-S", SOURCE / "tests/lib/consumer", "-B", folder, "-G", "Ninja",
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DWANTED_VERSION={version}")

    def pkg_config(self, *arguments):
        """Flags, of which those for folders may hold blanks."""
        printed = run("pkg-config", *arguments, "nf4", env=self.environment)
        return [word.replace("\\ ", " ") for word in re.findall(r"(?:\\ |\S)+", printed)]

    def compile(self, source, program, flags):
        language = ["cc", "-std=c99"] if source.suffix == ".c" else ["c++", "-std=c++11"]
        run(*language, "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags, env=self.environment)
        return run(program, env=self.environment)

    def test_nothing_of_it_names_a_place(self):
        for file in [*self.prefix.rglob("*.cmake"), *self.prefix.rglob("*.pc")]:
            if "nf4" in file.name:
                text = file.read_text()
                for place in (BUILD, str(SOURCE), str(self.scratch)):
                    self.assertNotIn(place, text, file)

    def test_it_is_hardened_and_needs_little(self):
        library = self.lib_folder / "libnf4.so"
        dynamic = run("readelf", "-dW", library, env={**os.environ, "LC_ALL": "C"})
        self.assertRegex(dynamic, r"FLAGS_1.*\bNOW\b")
        self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH|TEXTREL)\)")
        self.assertIn("GNU_RELRO", run("readelf", "-lW", library))
        needed = {name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[([^\]]+)\]", dynamic)}
        self.assertLessEqual(needed, {"libhwy", "libstdc++", "libgcc_s", "libm", "libc", "ld-linux-x86-64",
                                      "ld-linux-aarch64"})

    def test_it_asks_cuda_for_nothing_that_waits_or_takes_memory(self):
        listed = run("nm", "-u", self.lib_folder / "libnf4.a")
        calls = set(re.findall(r" U (cuda\w+)", listed))
        self.assertLessEqual(calls, {
            "cudaDeviceGetAttribute", "cudaFuncSetAttribute", "cudaGetDevice", "cudaGetDeviceCount",
            "cudaGetDriverEntryPointByVersion", "cudaGetLastError", "cudaLaunchKernelExC"})

    def test_cmake_finds_it_for_c_and_cpp_shared_and_static(self):
        folder = self.scratch / "consumer"
        self.assertIn("nf4_VERSION 1.0.0", self.configure(folder, "1.0"))
        run(CMAKE, "--build", folder)
        for consumer in ("c_shared", "c_static", "cpp_nf4", "cpp_nf4_static"):
            self.assertEqual(run(folder / consumer), PRINTED, consumer)
        needed = run("readelf", "-d", folder / "c_static")
        self.assertNotIn("libnf4", needed)

    def test_cmake_does_not_take_it_for_a_later_version(self):
        for version in ("1.1", "2.0"):
            with self.assertRaisesRegex(AssertionError, "compatible"):
                self.configure(self.scratch / f"later-{version}", version)

    def test_pkg_config_finds_it(self):
        self.assertEqual(run("pkg-config", "--modversion", "nf4", env=self.environment), "1.0.0\n")
        for source in (SOURCE / "tests/lib/consumer").glob("consumer.c*"):
            printed = self.compile(source, self.scratch / f"shared-{source.suffix}",
                                   self.pkg_config("--cflags", "--libs"))
            self.assertEqual(printed, PRINTED)

    def test_pkg_config_finds_the_static_library(self):
        prefix = self.scratch / "static"
        shutil.copytree(self.prefix, prefix)
        for library in prefix.rglob("libnf4.so*"):
            library.unlink()
        flags = [word.replace(str(self.prefix), str(prefix))
                 for word in self.pkg_config("--static", "--cflags", "--libs")]
        printed = self.compile(SOURCE / "tests/lib/consumer/consumer.c", self.scratch / "with_static", flags)
        self.assertEqual(printed, PRINTED)

    def test_the_documented_example_works(self):
        document = (SOURCE / "docs/libnf4.md").read_text()
        (code,) = re.findall(r"```c\n(.*?)```", document, re.DOTALL)
        (printed,) = re.findall(r"```text\n(.*?)```", document, re.DOTALL)
        example = self.scratch / "example.c"
        example.write_text(code)
        flags = self.pkg_config("--cflags", "--libs")
        self.assertEqual(self.compile(example, self.scratch / "example", flags), printed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
