"""Tests of scripts/count_sass.py on disassembled kernels written by hand."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays clean
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from count_sass import measure  # noqa: E402

HALF = "decodeILNS_10OutputTypeE0ELb1EEvv"  # float16, nested


def kernel(*instructions):
    return measure("file", HALF, "sm_90", [(16 * i, text) for i, text in enumerate(instructions)])


class MainPath(unittest.TestCase):
    def test_a_kernel_of_narrow_stores_alone_is_measured_behind_its_early_return(self):
        found = kernel("ISETP.GE P0, PT, R0, R1, PT", "@P0 EXIT", "FMUL R2, R3, R4", "STG.E.U16 [R6], R2", "EXIT")
        self.assertIsNotNone(found)
        self.assertEqual((found.instructions, found.elements, found.widest_store), (5, 1, 2))

    def test_the_end_that_a_kernel_of_narrow_stores_skips_counts(self):
        found = kernel("STG.E.U16 [R6], R2", "@P0 EXIT", "STG.E.U16 [R6+0x2], R3", "EXIT")
        self.assertEqual((found.instructions, found.elements), (4, 2))

    def test_the_ragged_end_of_a_kernel_of_wide_stores_does_not_count(self):
        found = kernel("@P0 BRA 0x30", "STG.E.128 [R6], R8", "EXIT", "STG.E.U16 [R6], R2", "STG.E.U16 [R6+0x2], R3", "EXIT")
        self.assertEqual((found.instructions, found.elements, found.widest_store), (3, 8, 16))

    def test_a_kernel_that_stores_nothing_is_left_out(self):
        self.assertIsNone(kernel("FMUL R2, R3, R4", "EXIT"))


if __name__ == "__main__":
    unittest.main()
