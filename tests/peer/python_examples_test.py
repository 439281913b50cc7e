#!/usr/bin/env python3
"""Functions of Python files with numpy and with torch, measured by the program.

  python_examples_test.py path/to/nf4bench

The example of docs/peers.md needs a Python with numpy: the one that runs this. Functions of torch are
tried with the Python that NF4BENCH_TEST_TORCH_PYTHON names. Exits with 77 where there is neither.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "docs/examples/python/numpy_decode.py"
FUNCTIONS = pathlib.Path(__file__).with_name("torch_functions.py")
SAMPLES = [str(ROOT / "data" / f"{name}.safetensors") for name in ("ranges", "odd_shapes", "blocksizes")]
TORCH_PYTHON = os.environ.get("NF4BENCH_TEST_TORCH_PYTHON")
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/nf4bench"


# Of what has many rows. Beside other tests, threads that wait for each other would be most of its time.
ALONE = ("--threads", "1")


def measure(python, peer, *options):
    """Exit code, report and stderr of a short run."""
    command = [PROGRAM, "run", "--device", "cpu", "--no-ceilings", "--max-time", "0.002", "--min-samples", "3",
               "--cache", "hot", "--quiet", "--json", "-", "--peer", f"mine={peer}", *options]
    # Other tests measure at the same time.
    environment = dict(os.environ, NF4BENCH_PYTHON=python, NF4BENCH_LOCKS="")
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {}, ended.stderr


def rows(report):
    """Status and reason of the last row of each variant."""
    return {m["variant"]: (m["status"], m["reason"] or "") for m in report["measurements"]}


def has_module(python, name):
    """Whether a module can be found, which takes less time than to import it."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return subprocess.run([python, "-c", code], capture_output=True).returncode == 0


def has_library(python):
    ended = subprocess.run([PROGRAM, "list", "variants", "--peer", f"mine={EXAMPLE}"], capture_output=True, text=True,
                           env=dict(os.environ, NF4BENCH_PYTHON=python))
    return "has no shared library" not in ended.stderr


@unittest.skipUnless(importlib.util.find_spec("numpy") and has_library(sys.executable), "no numpy or libpython")
class OfNumpy(unittest.TestCase):
    def test_the_example_decodes_every_kind_of_weight_bit_for_bit(self):
        code, report, err = measure(sys.executable, EXAMPLE, *SAMPLES, "--dtype", "float16,bfloat16,float32",
                                    "--variant", "mine*", "--baseline", "mine.dequantize")
        self.assertEqual(code, 0, err)
        self.assertGreater(len(report["measurements"]), 30)
        self.assertEqual({m["status"] for m in report["measurements"]}, {"passed"})

    def test_the_example_multiplies(self):
        code, report, err = measure(sys.executable, EXAMPLE, "--operation", "matmul", "--shape", "33x77", "--tokens",
                                    "1,3", "--dtype", "float16,bfloat16", "--variant", "mine*",
                                    "--baseline", "mine.linear")
        self.assertEqual(code, 0, err)
        self.assertEqual({m["status"] for m in report["measurements"]}, {"passed"})

    def test_the_example_finds_gradients(self):
        code, report, err = measure(sys.executable, EXAMPLE, "--operation", "backward", "--shape", "33x77", "--tokens",
                                    "1,3", "--dtype", "float16,bfloat16", "--variant", "mine*", "--baseline",
                                    "mine.gradient")
        self.assertEqual(code, 0, err)
        self.assertEqual({(m["variant"], m["status"]) for m in report["measurements"]}, {("mine.gradient", "passed")})

    def test_stacks_that_lie_transposed_are_left_to_others(self):
        code, report, err = measure(sys.executable, EXAMPLE, "--operation", "experts", "--shape", "5x64x128",
                                    "--transposed", "--top-k", "3", "--tokens", "3", "--variant",
                                    "mine.experts,reference", "--baseline", "none")
        self.assertEqual(code, 0, err)
        self.assertEqual(rows(report)["mine.experts"], ("skipped", "knows no stacks that lie transposed"))

    def test_the_example_multiplies_with_the_experts_that_tokens_chose(self):
        for part in "gate_up", "down":
            code, report, err = measure(sys.executable, EXAMPLE, "--operation", "experts", "--shape", "5x33x77",
                                        "--top-k", "3", "--part", part, "--tokens", "1,7", "--dtype",
                                        "float16,bfloat16", "--variant", "mine.experts", "--baseline", "mine.experts")
            self.assertEqual(code, 0, err)
            self.assertEqual({m["status"] for m in report["measurements"]}, {"passed"})

    def test_the_example_does_layers_of_experts(self):
        for activation in "silu", "gelu_tanh", "gptoss", "relu2":
            code, report, err = measure(sys.executable, EXAMPLE, "--operation", "experts", "--shape", "8x64x128",
                                        "--top-k", "3", "--part", "layer", "--activation", activation, "--tokens",
                                        "1,7", "--dtype", "float16,bfloat16", "--variant", "mine*", "--baseline",
                                        "mine.layer")
            self.assertEqual(code, 0, err)
            self.assertEqual({(m["variant"], m["status"]) for m in report["measurements"]},
                             {("mine.layer", "passed"), ("mine.experts", "skipped")}, rows(report))
            self.assertIn("single products", rows(report)["mine.experts"][1])

    def test_arrays_that_are_returned_are_copied_or_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "solution.py")
            path.write_text("import sys\n"
                            f"sys.path.append({str(EXAMPLE.parent)!r})\n"
                            "import numpy as np\n"
                            "import numpy_decode\n\n"
                            "def returns(weight, quant_state):\n"
                            "    out = np.empty(quant_state.shape, quant_state.dtype)\n"
                            "    numpy_decode.dequantize(weight, quant_state, out)\n"
                            "    return out\n\n"
                            "def widens(weight, quant_state):\n"
                            "    return returns(weight, quant_state).astype(np.float64)\n\n"
                            "def flattens(weight, quant_state):\n"
                            "    return returns(weight, quant_state).reshape(-1)\n", encoding="utf-8")
            _, report, _ = measure(sys.executable, path, "--shape", "5x13", "--dtype", "float16", "--variant",
                                   "mine*", "--baseline", "mine.returns")
        found = rows(report)
        self.assertEqual(found["mine.returns"], ("passed", ""))
        self.assertEqual(found["mine.widens"],
                         ("failed", "TypeError: returned float64 (5, 13), wanted float16 (5, 13)"))
        self.assertEqual(found["mine.flattens"],
                         ("failed", "TypeError: returned float16 (65,), wanted float16 (5, 13)"))


@unittest.skipUnless(TORCH_PYTHON, "NF4BENCH_TEST_TORCH_PYTHON is not set")
class OfTorch(unittest.TestCase):
    def test_every_form_of_a_function_decodes_bit_for_bit(self):
        code, report, err = measure(TORCH_PYTHON, FUNCTIONS, *SAMPLES, *ALONE, "--dtype", "float16,bfloat16,float32",
                                    "--variant", "mine.fills,mine.returns,mine.of_layer", "--baseline", "mine.fills")
        self.assertEqual(code, 0, err)
        self.assertEqual({m["status"] for m in report["measurements"]}, {"passed"})

    def test_products_are_measured(self):
        code, report, err = measure(TORCH_PYTHON, FUNCTIONS, "--operation", "matmul", "--shape", "64x96", "--tokens",
                                    "1,3", "--dtype", "float16,bfloat16", "--variant", "mine*", "--baseline",
                                    "mine.linear")
        self.assertEqual(code, 0, err)
        self.assertEqual({m["status"] for m in report["measurements"]}, {"passed"})

    def test_the_gradient_of_bitsandbytes_is_measured(self):
        if not has_module(TORCH_PYTHON, "bitsandbytes"):
            self.skipTest("bitsandbytes is not installed there")
        code, report, err = measure(TORCH_PYTHON, EXAMPLE.parent / "bitsandbytes_gradient.py", *ALONE, "--operation",
                                    "backward", "--shape", "128x192", "--tokens", "1,7", "--dtype",
                                    "float16,bfloat16", "--variant", "mine*", "--baseline", "mine.gradient")
        self.assertEqual(code, 0, err)
        self.assertEqual({m["status"] for m in report["measurements"]}, {"passed"}, rows(report))

    def measure_experts_of_bitsandbytes(self, *options):
        if not has_module(TORCH_PYTHON, "bitsandbytes"):
            self.skipTest("bitsandbytes is not installed there")
        code, report, err = measure(TORCH_PYTHON, EXAMPLE.parent / "experts/bitsandbytes_experts.py", *ALONE,
                                    "--operation", "experts", "--top-k", "3", "--tokens", "1,7", "--dtype", "bfloat16",
                                    *options)
        self.assertEqual(code, 0, err)
        return report

    def test_the_ways_of_bitsandbytes_multiply_with_experts(self):
        for part in "gate_up", "down":
            report = self.measure_experts_of_bitsandbytes("--shape", "5x64x128", "--part", part, "--variant",
                                                          "mine.loop,mine.decode*", "--baseline", "mine.loop")
            self.assertEqual([m["status"] for m in report["measurements"]], ["passed"] * 6, rows(report))

    def test_the_way_of_bitsandbytes_does_layers_of_experts(self):
        # Of rows that are no multiple of 64 long, bitsandbytes 0.50.2 decodes wrong values where the CPU has AVX-512.
        for activation in "silu", "gptoss":
            report = self.measure_experts_of_bitsandbytes("--shape", "8x128x128", "--part", "layer", "--activation",
                                                          activation, "--variant", "mine.layer", "--baseline",
                                                          "mine.layer")
            self.assertEqual([m["status"] for m in report["measurements"]], ["passed"] * 2, rows(report))

    def test_a_wrong_type_is_a_failed_row(self):
        _, report, _ = measure(TORCH_PYTHON, FUNCTIONS, "--shape", "5x13", "--dtype", "float16", "--variant",
                               "mine.widens")
        self.assertEqual(rows(report)["mine.widens"],
                         ("failed", "TypeError: returned torch.float64 (5, 13) on cpu, wanted torch.float16 (5, 13) "
                                    "on cpu"))

    def test_a_function_is_measured_through_torch_compile_where_the_file_says_so(self):
        code, report, err = measure(TORCH_PYTHON, FUNCTIONS, "--shape", "64x64", "--shape", "32x96", "--dtype",
                                    "float16,bfloat16", "--variant", "mine.fills*,mine.breaks*", "--baseline",
                                    "mine.fills")
        self.assertEqual(code, 4, err)
        found = rows(report)
        self.assertEqual(found["mine.fills_compiled"], ("passed", ""))
        self.assertEqual(found["mine.breaks"], ("passed", ""))
        self.assertEqual(found["mine.breaks_compiled"][0], "failed")
        self.assertIn("torch._dynamo.exc", found["mine.breaks_compiled"][1])
        twins = {v["name"]: v.get("compiled_from") for v in report["variants"]}
        self.assertEqual(twins["mine.fills_compiled"], "mine.fills")
        self.assertIsNone(twins["mine.fills"])

    # The interpreter cuts bfloat16 off where a GPU rounds.
    def test_the_designs_in_triton_decode_bit_for_bit_in_its_interpreter(self):
        if not has_module(TORCH_PYTHON, "triton"):
            self.skipTest("Triton is not installed there")
        with unittest.mock.patch.dict(os.environ, TRITON_INTERPRET="1"):
            for design in ("adaptive", "cache_hints", "select_tree", "skeleton", "warp_persistent"):
                code, report, err = measure(TORCH_PYTHON, EXAMPLE.with_name(design + ".py"), "--shape", "65x77",
                                            "--shape", "16x512", "--blocksize", "256", "--dtype", "float16,float32",
                                            "--variant", "mine*")
                self.assertEqual(code, 0, f"{design}: {err}")
                found = [m for m in report["measurements"] if m["variant"].startswith("mine.")]
                self.assertEqual([m["status"] for m in found], ["passed"] * 4, f"{design}: {found[0]['reason']}")

    def test_the_package_of_nf4bench_is_a_peer_that_torch_compile_traces(self):
        if not has_module(TORCH_PYTHON, "nf4bench.torch"):
            self.skipTest("nf4bench.torch is not there")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "solution.py")
            path.write_text("from nf4bench.torch import fast_dequantize\nfast_dequantize.torch_compile = True\n",
                            encoding="utf-8")
            code, report, err = measure(TORCH_PYTHON, path, "--shape", "64x64", "--shape", "33x77", "--dtype",
                                        "float16,bfloat16", "--variant", "mine*", "--baseline",
                                        "mine.fast_dequantize")
        self.assertEqual(code, 0, f"{err}\n{rows(report) if report else ''}")
        self.assertEqual(rows(report), {"mine.fast_dequantize": ("passed", ""),
                                        "mine.fast_dequantize_compiled": ("passed", "")})


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if len(result.skipped) == result.testsRun else 0)
