#!/usr/bin/env python3
"""Makes the wheel out of a build, lets auditwheel repair it, and uses both in empty environments.

  scripts/torch/python tests/python/wheel_test.py BUILD

BUILD is a folder of CMake in which the program is built; it is configured once more, and nothing of it is compiled again.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = None
MOST_BYTES = 40 << 20


def call(*words, **environment):
    result = subprocess.run([str(each) for each in words], capture_output=True, text=True, timeout=600,
                            env={**os.environ, **environment})
    if result.returncode:
        raise AssertionError(f"{words} ended with {result.returncode}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}")
    return result.stdout


def cached(name):
    """An entry of the cache of the build, so that it stays as it is."""
    for line in (BUILD / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(name + ":"):
            return line.partition("=")[2]
    return ""


def device_of_build():
    """ON or OFF; left to itself, pip compiles for the GPUs that are here."""
    chosen = cached("NF4BENCH_CUDA")
    return chosen if chosen in ("ON", "OFF") else "ON" if cached("CMAKE_CUDA_COMPILER").endswith("nvcc") else "OFF"


@contextlib.contextmanager
def environment_with(wheel):
    """An empty virtual environment with the wheel; gives its Python and its folder of programs."""
    with tempfile.TemporaryDirectory() as folder:
        clean = {"PYTHONPATH": "", "LD_LIBRARY_PATH": ""}
        call(sys.executable, "-m", "venv", "--without-pip", folder, **clean)
        programs = pathlib.Path(folder) / "bin"
        call(sys.executable, "-m", "pip", "--python", programs / "python", "install", "--no-index", "--no-deps",
             "--quiet", wheel, **clean)
        yield programs


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        out = pathlib.Path(folder.name)
        begin = time.monotonic()
        # By which scikit-build-core would clear the cache of a build by another Python.
        (BUILD / ".skbuild-info.json").unlink(missing_ok=True)
        call(sys.executable, "-m", "pip", "wheel", ROOT, "--no-build-isolation", "--no-deps", "--quiet", "-w", out,
             f"--config-settings=build-dir={BUILD}",
             f"--config-settings=cmake.define.NF4BENCH_CUDA={device_of_build()}",
             f"--config-settings=cmake.build-type={cached('CMAKE_BUILD_TYPE')}",
             f"--config-settings=cmake.define.NF4BENCH_TESTS={cached('NF4BENCH_TESTS')}",
             f"--config-settings=cmake.define.NF4BENCH_UNITY={cached('NF4BENCH_UNITY')}")
        [cls.built] = out.glob("*.whl")
        call(sys.executable, "-m", "auditwheel", "repair", "-w", out / "repaired", cls.built,
             PATH=os.pathsep.join([*(str(pathlib.Path(each) / "bin") for each in sys.path), os.environ["PATH"]]))
        [cls.repaired] = (out / "repaired").glob("*.whl")
        print(f"{cls.repaired.name}: {cls.repaired.stat().st_size / 1e6:.1f} MB after {time.monotonic() - begin:.0f} s")

    def test_names_and_sizes(self):
        self.assertRegex(self.built.name, r"^nf4bench-[0-9.]+-py3-none-linux_\w+\.whl$")
        self.assertRegex(self.repaired.name, r"^nf4bench-[0-9.]+-py3-none-manylinux_2_\d+_\w+\.whl$")
        self.assertLess(self.repaired.stat().st_size, MOST_BYTES)
        names = zipfile.ZipFile(self.built).namelist()
        self.assertIn("nf4bench/libnf4.so", names)
        self.assertFalse([each for each in names if "test" in each or "__pycache__" in each])

    def test_the_program_runs_from_an_empty_environment(self):
        for wheel in (self.built, self.repaired):
            with self.subTest(wheel.name), environment_with(wheel) as programs:
                with tempfile.TemporaryDirectory() as elsewhere:
                    report = pathlib.Path(elsewhere) / "report.json"
                    clean = {"PATH": f"{programs}:/usr/bin:/bin", "PYTHONPATH": "", "LD_LIBRARY_PATH": ""}
                    call("nf4bench", "run", "--shape", "1024x1024", "--device", "cpu", "--max-time", "0.05",
                         "--quiet", "--json", report, **clean)
                    passed = call("python", "-I", "-c", f"""if True:
                        import nf4bench
                        report = nf4bench.load({str(report)!r})
                        print(all(each.passed for each in report.measurements), len(report.measurements) > 2)
                        """, **clean)
                    self.assertEqual(passed.split(), ["True", "True"])
                    # Whatever is on PATH.
                    self.assertEqual(call(programs / "python", "-I", "-m", "nf4bench", "--version", PATH=""),
                                     call(programs / "nf4bench", "--version"))

    def test_the_library_is_found_without_torch(self):
        for wheel in (self.built, self.repaired):
            with self.subTest(wheel.name), environment_with(wheel) as programs:
                out = call(programs / "python", "-I", "-c", """if True:
                    import importlib.metadata, sys
                    import nf4bench
                    [entry] = importlib.metadata.entry_points(group="bitsandbytes.backends")
                    entry.load()
                    print(nf4bench.libnf4_version(), entry.value, "torch" in sys.modules)
                    """, PYTHONPATH="", LD_LIBRARY_PATH="")
                self.assertRegex(out, r"^1\.\d+\.\d+ nf4bench_bitsandbytes:activate False$")

    def test_the_drop_in_is_found_where_it_is_installed(self):
        with environment_with(self.repaired) as programs:
            packages = next(programs.parent.glob("lib/python*/site-packages"))
            out = call(sys.executable, "-m", "nf4bench.torch",
                       PYTHONPATH=os.pathsep.join([str(packages), os.environ["PYTHONPATH"]]), NF4_LIBRARY="")
            self.assertIn(str(packages), out)
            self.assertRegex(out, r"active +yes")
            with_cuda = "-C cmake.define.NF4BENCH_CUDA=ON"
            (self.assertIn if device_of_build() == "OFF" else self.assertNotIn)(with_cuda, out)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    os.environ.pop("NF4_LIBRARY", None)
    unittest.main()
