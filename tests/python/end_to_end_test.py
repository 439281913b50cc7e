#!/usr/bin/env python3
"""What scripts/torch/end_to_end.py measures of a served and of a trained model, on a CPU and with a tiny one.

Exits with 77 where bitsandbytes is not installed; without transformers and PEFT only traces that are written here are
looked at.
"""

import importlib.util
import os
import pathlib
import sys
import types
import unittest
import unittest.mock

os.environ.setdefault("OMP_NUM_THREADS", "1")  # else two pools of threads wait for each other
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "torch"))
for name in ("scipy", "sklearn"):  # those of a system, which may be for another NumPy
    sys.modules[name] = None

if importlib.util.find_spec("bitsandbytes") is None:
    print("bitsandbytes is not installed")
    sys.exit(77)

import end_to_end  # noqa: E402
import models  # noqa: E402
import serving  # noqa: E402
import step_trace  # noqa: E402
import torch  # noqa: E402

import nf4bench.torch  # noqa: E402

HAS_MODELS = all(importlib.util.find_spec(each) for each in ("transformers", "peft"))
RANK, VOCABULARY = 16, 128256
BACKWARD = "autograd::engine::evaluate_function: "


def product(first, second):
    return f"aten::mm [{list(first)}, {list(second)}]"


class KindOfKernel(unittest.TestCase):
    def check(self, kind, name, *scope):
        self.assertEqual(step_trace.kind_of(name, scope, RANK, VOCABULARY), kind, (name, scope))

    def test_products_with_base_weights_by_where_they_are_called(self):
        gemm, shapes = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTT", product((512, 4096), (4096, 14336))
        inside = (shapes, "aten::linear [[1, 512, 4096], [14336, 4096], []]", "bitsandbytes::gemm_4bit", "MatMul4Bit",
                  step_trace.LAYER)
        self.check("forward", gemm, *inside)
        self.check("recompute", gemm, *inside, "MulBackward0", BACKWARD + "MulBackward0")
        self.check("backward", gemm, product((512, 14336), (14336, 4096)), "aten::matmul [[1, 512], []]",
                   "MatMul4BitBackward", BACKWARD + "MatMul4BitBackward")
        self.check("forward", "void nf4bench::cuda::wgmma_decode<__nv_bfloat16, 128>(Job)", "bitsandbytes::gemm_4bit",
                   "MatMul4Bit")

    def test_decoding_by_name_and_by_place(self):
        theirs = "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*, float*, int)"
        self.check("decode", theirs, "bitsandbytes::gemm_4bit", "MatMul4Bit")
        self.check("decode", theirs, "bitsandbytes::dequantize_4bit", "MatMul4BitBackward")
        self.check("decode", "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add>",
                   "aten::add_ [[65536], []]", "MatMul4BitBackward", BACKWARD + "MatMul4BitBackward")
        self.check("decode", "void nf4bench::fused_wide<__nv_bfloat16, (Scales)1>(Job, unsigned, unsigned)")
        self.check("decode", "nf4bench::stream_ahead(Job, unsigned)", "MatMul4BitBackward")
        self.check("backward", "nvjet_persistent", product((512, 14336), (14336, 4096)), "MatMul4BitBackward")

    def test_other_products_by_their_shapes(self):
        gemm = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"
        self.check("lora", gemm, product((2048, 4096), (4096, RANK)), step_trace.LAYER)
        self.check("lora", gemm, product((4096, 2048), (2048, RANK)), "MmBackward0", BACKWARD + "MmBackward0")
        self.check("head", gemm, product((2048, 4096), (4096, VOCABULARY)))
        self.check("rest", gemm, product((64, 32), (32, 64)))

    def test_what_is_computed_again_is_not_the_operator_that_asked_for_it(self):
        self.check("rest", "void at::native::silu_kernel", "aten::silu [[1, 512, 14336]]", step_trace.LAYER,
                   "ScaledDotProductFlashAttentionBackward0")
        self.check("attention", "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
                   "aten::_flash_attention_backward [[1]]", "ScaledDotProductFlashAttentionBackward0")
        self.check("attention", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop", "aten::_cudnn_attention_forward",
                   "aten::_scaled_dot_product_cudnn_attention [[1]]", "aten::scaled_dot_product_attention [[1]]")
        self.check("optimizer", "multi_tensor_apply_kernel", "aten::_foreach_add_", "Optimizer.step#AdamW.step")
        self.check("rest", "Memset (Device)")


class Times(unittest.TestCase):
    def test_kernels_at_the_same_time_count_once(self):
        times = [(5.0, 9.0), (0.0, 4.0), (1.0, 2.0), (3.0, 3.5), (8.0, 12.0), (20.0, 21.0)]
        spans = [("kernel", begin, end, ()) for begin, end in times]
        self.assertEqual(step_trace.union_us(spans), 4 + 7 + 1)
        self.assertEqual(step_trace.union_us([]), 0)

    def test_totals_add_up_and_name_the_largest_first(self):
        spans = [("kDequantizeBlockwise", 0.0, 1000.0, ()), ("kDequantizeBlockwise", 2000.0, 5000.0, ()),
                 ("gemm", 0.0, 500.0, (product((8, 4096), (4096, RANK)),))]
        kinds, kernels = step_trace.totals(spans, RANK, VOCABULARY)
        self.assertEqual((kinds["decode"], kinds["lora"], sum(kinds.values())), (4.0, 0.5, 4.5))
        self.assertEqual(kernels[0], {"name": "kDequantizeBlockwise", "kind": "decode", "calls": 2, "ms": 4.0})

    def test_kernels_belong_to_the_operator_around_their_launch(self):
        def event(number, name, begin, end, device="CPU", parent=None, shapes=()):
            return types.SimpleNamespace(id=number, name=name, device_type=f"DeviceType.{device}", cpu_parent=parent,
                                         time_range=types.SimpleNamespace(start=begin, end=end),
                                         input_shapes=list(shapes))

        outer = event(7, "MatMul4Bit", 0, 9)
        inner = event(8, "aten::mm", 1, 8, parent=outer, shapes=[[2, 3], [3, 4]])
        launch = event(71, "cudaLaunchKernelExC", 2, 3, parent=inner)
        events = [outer, inner, launch, event(71, "gemm", 10, 14, "CUDA"), event(7, "lost", 15, 16, "CUDA"),
                  event(3, "MatMul4Bit", 10, 14, "CUDA")]  # a range of the host, as the GPU saw it
        self.assertEqual(step_trace.spans_of(events, has_gpu=True),
                         [("gemm", 10, 14, ("aten::mm [[2, 3], [3, 4]]", "MatMul4Bit")), ("lost", 15, 16, ())])
        with self.assertRaisesRegex(RuntimeError, "no kernel"):
            step_trace.spans_of(events[:3], has_gpu=True)


@unittest.skipUnless(HAS_MODELS and not torch.cuda.is_available(), "transformers and peft are not here, or a GPU is")
class TinyModel(unittest.TestCase):
    def setUp(self):
        self.addCleanup(nf4bench.torch.deactivate)
        torch.manual_seed(1)
        self.model = models.tiny("cpu")
        self.layers = 2 * 7

    def check_served(self, result):
        self.assertEqual(result["products"]["bitsandbytes"]["by_libnf4"], 0)
        ours = result["products"]["nf4bench"]
        self.assertEqual(ours["layers"], ours["by_libnf4"])
        self.assertGreaterEqual(ours["layers"], self.layers * 4)
        for who in ("bitsandbytes", "nf4bench"):
            rate = result["tokens_per_second"][who]
            self.assertEqual((rate["samples"], rate["unit"]), (3, "tokens/s"))
            self.assertTrue(0 < rate["low"] <= rate["median"] <= rate["high"])
        self.assertGreater(result["same_tokens"], 0.5)
        self.assertEqual(self.model.config._attn_implementation, "sdpa")

    def test_requests_are_served_by_continuous_batching(self):
        counts = []
        for count, result in serving.measure_serving(self.model, [1, 3], "cpu", new=4, rounds=3):
            counts.append(count)
            self.assertEqual(result["loop"], serving.Continuous.name)
            self.assertNotIn("instead_because", result)
            self.check_served(result)
            self.assertIn("tokens/s", next(end_to_end.rows("serving", str(count), result)))
        self.assertEqual(counts, [1, 3])

    def test_another_loop_stands_in_and_the_result_says_so(self):
        with unittest.mock.patch.object(type(self.model), "init_continuous_batching", side_effect=TypeError("renamed")):
            [(_, result)] = serving.measure_serving(self.model, [2], "cpu", new=4, rounds=3)
            self.assertEqual(result["loop"], serving.Batch.name)
            self.assertIn("renamed", result["instead_because"])
            self.check_served(result)
            with self.assertRaisesRegex(TypeError, "renamed"):
                next(serving.measure_serving(self.model, [2], "cpu", is_captured=True, new=4, rounds=3))

    def test_both_loops_make_the_same_tokens(self):
        prompts = torch.randint(1, 512, (2, 128)).tolist()
        found = []
        for kind in (serving.Continuous, serving.Batch):
            server = kind(self.model, 2, False)
            found.append(server.serve(prompts, 3))
            server.close()
        self.assertEqual(*found)

    def test_a_training_step_is_taken_apart(self):
        model, step = end_to_end.qlora(self.model)
        tokens = torch.randint(0, 512, (1, 64))
        step(tokens)
        seen = {}
        for who, ours in end_to_end.BOTH:
            end_to_end.switch(ours)
            spans = step_trace.traced(model, lambda: step(tokens))
            kinds, _ = step_trace.totals(spans, RANK, 512)
            self.assertTrue(all(kinds.values()), kinds)
            whole = sum(kinds.values())
            self.assertAlmostEqual(whole, step_trace.union_us(spans) / 1e3, delta=0.2 * whole)
            seen[who] = {name: sum(1 for each in spans if each[0] == name and self.is_base(each))
                         for name in ("bitsandbytes::dequantize_4bit", "aten::mm")}
        # Forward, computed again, and on the way back; with the drop-in nothing is decoded by bitsandbytes' operators.
        self.assertGreaterEqual(seen["bitsandbytes"]["bitsandbytes::dequantize_4bit"], 3 * self.layers)
        self.assertEqual(seen["nf4bench"]["bitsandbytes::dequantize_4bit"], 0)
        self.assertFalse([name for name, each in model.named_modules() if "forward" in vars(each)])

    @staticmethod
    def is_base(span):
        return any(each.startswith("MatMul4Bit") for each in span[3])

    def test_the_trace_of_each_batch_is_a_table(self):
        model, step = end_to_end.qlora(self.model)
        found = dict(step_trace.measure_trace(model, step, [1], "cpu", end_to_end.wall_milliseconds, rounds=2))
        self.assertEqual(list(found), ["1 x 512"])  # the longest that this model takes
        result = found["1 x 512"]
        for who in ("bitsandbytes", "nf4bench"):
            busy, idle, whole = (result[each][who] for each in ("busy_ms", "idle_ms", "ms"))
            self.assertEqual(idle, max(0.0, whole["median"] - busy))
            self.assertEqual(result["unknown_ms"][who], 0)
        rows = list(end_to_end.rows("trace", "1 x 512", result))
        self.assertEqual(len(rows), len(step_trace.KINDS) + 3)


if __name__ == "__main__":
    unittest.main()
