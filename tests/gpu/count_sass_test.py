"""Tests of scripts/count_sass.py on disassembled kernels written by hand."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays clean
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from count_sass import broken_rules, measure  # noqa: E402

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


class MainLoop(unittest.TestCase):
    def test_it_is_the_shortest_loop_that_holds_most_products(self):
        found = kernel(
            "MOV R0, R1",
            "HGMMA.64x16x16.F32 R24, R32, gdesc[UR8], R24",  # begins a tile
            "LDS R2, [R3]",
            "IMMA.16832.S8.S8 R8, R4.ROW, R6.COL, R8",
            "IMMA.16832.S8.S8 R8, R4.ROW, R6.COL, R8",
            "IMMA.16832.S8.S8 R8, R4.ROW, R6.COL, R8",
            "NOP",
            "@P0 BRA 0x20",
            "@P1 BRA 0x10",
            "STG.E.U16 [R6], R2",
            "EXIT",
        )
        self.assertEqual(found.main_loop()["issue"], 5)

    def test_a_rule_may_ask_for_one_of_two_loops(self):
        hgmma = "HGMMA.64x16x16.F32 R24, R32, gdesc[UR8], R24"
        loops = ("LDS R2, [R3]", hgmma, "@P0 BRA 0x0", "LDS R2, [R3]", hgmma, "NOP", "@P0 BRA 0x30")
        two = kernel(*loops, "STG.E.U16 [R6], R2", "EXIT")
        self.assertEqual((two.main_loop(), two.main_loop(0.5)["issue"]), ({}, 3))
        rule = {"match": "float16", "loop_weights": 1, "instructions_per_weight": {"issue": 3}}
        self.assertEqual(list(broken_rules(two, [rule])), ["no loop holds its products"])
        self.assertEqual(list(broken_rules(two, [rule | {"loop_share": 0.5}])), [])

    def test_each_pipe_has_a_budget_of_its_own(self):
        found = kernel("LDS R2, [R4]", "@P0 IDP.4A R3, R2, R5", "LOP3.LUT R6, R3, 0xf, RZ", "HMMA.16816.F32 R8, R2, R6, R8",
                       "LDGSTS.E.128 [R7], [R9]", "@P0 BRA 0x0", "STG.E.U16 [R6], R0", "EXIT")
        self.assertEqual(found.main_loop(),
                         {"issue": 6, "tensor": 1, "fma": 1, "alu": 1, "shared": 1, "global": 1})
        rule = {"match": ".", "loop_weights": 2, "instructions_per_weight": {"issue": 3, "tensor": 0.5}}
        self.assertEqual(list(broken_rules(found, [rule])), [])
        rule["instructions_per_weight"]["shared"] = 0.4
        self.assertEqual(list(broken_rules(found, [rule])), ["0.500 shared instructions a weight, budget 0.4"])

    def test_a_kernel_without_tensor_cores_is_measured_by_its_sums(self):
        found = kernel("LDG.E R2, [R4]", "FFMA R0, R2, R3, R0", "@P0 BRA 0x0", "STG.E.U16 [R6], R0", "EXIT")
        self.assertEqual(found.main_loop()["issue"], 3)

    def test_a_budget_a_weight_holds_the_loop_and_needs_one(self):
        loop = kernel("LDG.E R2, [R4]", "FFMA R0, R2, R3, R0", "@P0 BRA 0x0", "STG.E.U16 [R6], R0", "EXIT")
        straight = kernel("FFMA R0, R2, R3, R0", "STG.E.U16 [R6], R0", "EXIT")
        rule = {"match": ".", "loop_weights": 2}
        self.assertEqual(list(broken_rules(loop, [rule | {"instructions_per_weight": {"issue": 1.5}}])), [])
        self.assertEqual(len(list(broken_rules(loop, [rule | {"instructions_per_weight": {"issue": 1.4}}]))), 1)
        self.assertEqual(len(list(broken_rules(straight, [rule | {"instructions_per_weight": {"issue": 9}}]))), 1)

    def test_local_memory_is_out_of_bounds_unless_a_rule_allows_it(self):
        spills = kernel("STL [R1], R2", "STG.E.U16 [R6], R2", "EXIT")
        rule = {"match": ".", "instructions_per_element": 9, "store_bytes": 2}
        self.assertEqual(len(list(broken_rules(spills, [rule]))), 1)
        self.assertEqual(list(broken_rules(spills, [rule | {"local_accesses": 1}])), [])

    def test_a_product_is_known_by_how_its_scales_are_stored(self):
        name = "wgmmaINS_5ShapeELNS_9ScaleKindE2EEEvv"
        found = measure("file", name, "sm_90a", [(0, "STG.E [R6], R2"), (16, "EXIT")])
        self.assertEqual((found.output_type, found.nested), ("any", True))


if __name__ == "__main__":
    unittest.main()
