"""The counts that end scripts/test, of a log as ctest writes it. The program is not needed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

LOG = """\
      Start 1: Npy.IsRead
 1/4 Test #1: Npy.IsRead .........................   Passed    0.01 sec
      Start 2: CudaMatmul.IsRight
 2/4 Test #2: CudaMatmul.IsRight .................***Skipped   0.02 sec
      Start 3: ci_slurm
 3/4 Test #3: ci_slurm ...........................***Skipped   0.20 sec
      Start 4: Npz.IsRead
 4/4 Test #4: Npz.IsRead .........................***Failed    0.01 sec

75% tests passed, 1 tests failed out of 4
"""


def counted(log):
    with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
        file.write(log)
        file.flush()
        script = f'source "{ROOT}/scripts/common.sh"; count_tests "{file.name}"; echo "of $total"'
        return subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True,
                              check=True).stdout.splitlines()


class Counts(unittest.TestCase):
    def test_skipped_tests_have_not_passed(self):
        self.assertEqual(counted(LOG), ["1 passed, 1 failed, 2 skipped", "of 4"])

    def test_no_test_is_none(self):
        self.assertEqual(counted("No tests were found!!!\n"), ["0 passed, 0 failed, 0 skipped", "of 0"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
