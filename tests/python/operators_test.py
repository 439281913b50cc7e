#!/usr/bin/env python3
"""torch.ops.nf4 under PyTorch's own checks, torch.compile, autograd, and CUDA graphs where there is a GPU."""

import unittest

import samples
import torch
from torch import library as registry

import nf4bench.torch as nf4

LINEAR, DEQUANTIZE = torch.ops.nf4.linear.default, torch.ops.nf4.dequantize.default
LINEAR_OUT = torch.ops.nf4.linear_out.default


class Operators(unittest.TestCase):
    def test_opcheck(self):
        for device in samples.DEVICES:
            for nested in (False, True):
                for dtype in samples.TYPES:
                    before, after = samples.arguments(*samples.weight((24, 64), dtype, nested=nested, device=device))
                    registry.opcheck(DEQUANTIZE, (*before, dtype, *after))
                    out = torch.zeros(24, 64, dtype=dtype, device=device)
                    registry.opcheck(torch.ops.nf4.dequantize_out.default, (*before, out, *after))
                    tokens = torch.randn(3, 64, device=device).to(dtype)
                    for rows in (torch.zeros(3, 24, dtype=dtype, device=device),
                                 torch.zeros(3, 80, dtype=dtype, device=device)[:, 16:40]):
                        registry.opcheck(LINEAR_OUT, (tokens, *before, rows, None, *after))
                    for gradient in (False, True):
                        tokens = torch.randn(3, 64, device=device).to(dtype).requires_grad_(gradient)
                        bias = torch.randn(24, device=device).to(dtype).requires_grad_(gradient)
                        registry.opcheck(LINEAR, (tokens, *before, bias, *after))
                        registry.opcheck(LINEAR, (tokens[None], *before, None, *after))

    def test_gradients_are_those_of_the_decoded_weight(self):
        for device in samples.DEVICES:
            for dtype in samples.TYPES:
                for shape in ((64,), (5, 64), (2, 3, 64), (0, 64)):
                    packed, state = samples.weight((24, 64), dtype, device=device)
                    values = samples.decoded(packed, state)
                    tokens = torch.randn(shape, device=device).to(dtype)
                    bias = torch.randn(24, device=device).to(dtype)
                    outcome = []
                    for product in (lambda x, b: nf4.linear(x, packed, state, b),
                                    lambda x, b: torch.nn.functional.linear(x, values, b)):
                        x, b = tokens.clone().requires_grad_(), bias.clone().requires_grad_()
                        result = product(x, b)
                        result.backward(torch.ones_like(result) * 0.5)
                        outcome.append((x.grad, b.grad))
                    with self.subTest(device=device, dtype=dtype, shape=shape):
                        self.assertTrue(torch.equal(outcome[0][0], outcome[1][0]))
                        torch.testing.assert_close(outcome[0][1], outcome[1][1])

    def test_numerical_gradient(self):
        packed, state = samples.weight((6, 32), torch.float32, blocksize=32)
        tokens, bias = torch.randn(2, 32).requires_grad_(), torch.randn(6).requires_grad_()
        torch.autograd.gradcheck(lambda x, b: nf4.linear(x, packed, state, b), (tokens, bias),
                                 eps=1e-2, atol=2e-2, rtol=2e-2, nondet_tol=0.0, fast_mode=True)

    def test_only_what_wants_a_gradient_gets_one(self):
        packed, state = samples.weight((24, 64))
        tokens, bias = torch.randn(3, 64).bfloat16(), torch.randn(24).bfloat16()
        for first in (False, True):
            for second in (False, True):
                x, b = tokens.clone().requires_grad_(first), bias.clone().requires_grad_(second)
                result = nf4.linear(x, packed, state, b)
                self.assertEqual(result.requires_grad, first or second)
                if first or second:
                    result.sum().backward()
                self.assertEqual((x.grad is not None, b.grad is not None), (first, second))
        plain = samples.weight((24, 64), nested=False)[1]
        plain.absmax.requires_grad_()
        with self.assertRaisesRegex((ValueError, RuntimeError), "gradient"):
            nf4.linear(tokens.clone().requires_grad_(), packed, plain)

    def test_compiles_whole(self):
        for device in samples.DEVICES:
            packed, state = samples.weight((24, 64), device=device)
            tokens = torch.randn(3, 64, device=device).bfloat16()
            expected = nf4.linear(torch.relu(tokens), packed, state) * 2

            def work(x):
                return nf4.linear(torch.relu(x), packed, state) * 2

            for backend in samples.BACKENDS:
                torch._dynamo.reset()
                compiled = torch.compile(work, backend=backend, fullgraph=True)
                self.assertTrue(torch.equal(compiled(tokens), expected))
                x, y = tokens.clone().requires_grad_(), tokens.clone().requires_grad_()
                compiled(x).sum().backward()
                work(y).sum().backward()
                torch.testing.assert_close(x.grad, y.grad)
            torch._dynamo.reset()
            decode = torch.compile(lambda: nf4.dequantize(packed, state) + 1, fullgraph=True, backend="aot_eager")
            self.assertTrue(torch.equal(decode(), samples.decoded(packed, state) + 1))
            decode = torch.compile(lambda w: nf4.fast_dequantize(w, state) + 1, fullgraph=True, backend="aot_eager")
            self.assertTrue(torch.equal(decode(packed.t()), samples.decoded(packed, state).t() + 1))

    def test_compiles_whole_into_slices(self):
        for device in samples.DEVICES:
            shards = [samples.weight((rows, 64), device=device, seed=rows) for rows in (24, 17, 8)]
            bias = torch.randn(24, device=device).bfloat16()

            def work(x):
                x = torch.relu(x)
                out = x.new_full((x.shape[0], 64), 3.0)
                for column, (packed, state) in zip((0, 24, 48), shards):
                    rows = state.shape[0]
                    nf4.linear(x, packed, state, bias[:rows], out=out[:, column:column + rows])
                return out * 2

            def apart(x):
                x = torch.relu(x)
                products = [nf4.linear(x, *shard, bias[:shard[1].shape[0]]) for shard in shards]
                rest = x.new_full((x.shape[0], 8), 3.0)
                return torch.cat([*products[:2], rest[:, :7], products[2], rest], dim=1) * 2

            for backend in samples.BACKENDS:
                torch._dynamo.reset()
                compiled = torch.compile(work, backend=backend, fullgraph=True)
                for count in (1, 3, 5, 70):  # the third is compiled for any number
                    tokens = torch.randn(count, 64, device=device).bfloat16()
                    self.assertTrue(torch.equal(compiled(tokens), apart(tokens)), (backend, count))

    def test_a_compiled_slice_of_an_argument_is_written(self):
        packed, state = samples.weight((24, 64))
        for backend in samples.BACKENDS:
            torch._dynamo.reset()
            compiled = torch.compile(lambda x, out: nf4.linear(x, packed, state, out=out[:, 8:32]), backend=backend,
                                     fullgraph=True)
            tokens, out = torch.randn(3, 64).bfloat16(), torch.full((3, 40), 7.0).bfloat16()
            result = compiled(tokens, out)
            expected = nf4.linear(tokens, packed, state)
            self.assertTrue(torch.equal(result, expected) and torch.equal(out[:, 8:32], expected))
            self.assertTrue((out[:, :8] == 7).all() and (out[:, 32:] == 7).all())

    def test_compiles_with_any_number_of_tokens(self):
        packed, state = samples.weight((24, 64))
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: nf4.linear(x, packed, state), fullgraph=True, dynamic=True,
                                 backend="aot_eager")
        for count in (2, 3, 77):
            tokens = torch.randn(count, 64).bfloat16()
            self.assertTrue(torch.equal(compiled(tokens), nf4.linear(tokens, packed, state)))

    def test_modes_see_the_call(self):
        from torch.utils.flop_counter import FlopCounterMode
        packed, state = samples.weight((24, 64))
        seen = []

        class Watch(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
                seen.append(function)
                return function(*arguments, **(keywords or {}))

        with Watch():
            nf4.linear(torch.randn(3, 64).bfloat16(), packed, state)
            nf4.dequantize(packed, state)
        self.assertIn(LINEAR, seen)
        self.assertIn(DEQUANTIZE, seen)
        with FlopCounterMode(display=False):
            nf4.linear(torch.randn(3, 64).bfloat16(), packed, state)

    def test_fake_tensors(self):
        from torch._subclasses import FakeTensorMode
        packed, state = samples.weight((24, 64))
        before, after = samples.arguments(packed, state)
        with FakeTensorMode(allow_non_fake_inputs=True):
            tokens = torch.empty(2, 7, 64, dtype=torch.float16)
            self.assertEqual(LINEAR(tokens, *before, None, *after).shape, (2, 7, 24))
            self.assertEqual(DEQUANTIZE(*before, torch.float32, *after).dtype, torch.float32)
            with self.assertRaises(Exception):
                LINEAR(tokens[..., :60], *before, None, *after)
            out = torch.empty(2, 7, 40, dtype=torch.float16)
            LINEAR_OUT(tokens, *before, out[..., :24], None, *after)
            for wrong in (out[..., :23], out[:, :6, :24], out[..., :24].float()):
                with self.assertRaisesRegex(Exception, "out is"):
                    LINEAR_OUT(tokens, *before, wrong, None, *after)

    def test_bad_arguments_are_named(self):
        packed, state = samples.weight((24, 64))
        (_, absmax, blocksize, shape), (nested_absmax, nested_map, offset) = samples.arguments(packed, state)
        for words, nested in [("nested_map", (nested_absmax, None, offset)),
                              ("nested_offset", (nested_absmax, nested_map, None)),
                              ("nested_map", (nested_absmax, nested_map[:255], offset)),
                              ("nested_map", (nested_absmax, nested_map.double(), offset)),
                              ("absmax is torch.uint8", ()),
                              ("nested_absmax", (nested_absmax[:0], nested_map, offset))]:
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                DEQUANTIZE(packed, absmax, blocksize, shape, torch.bfloat16, *nested)


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class Graphs(unittest.TestCase):
    def test_a_captured_product_follows_its_inputs(self):
        for count in (1, 8, 64, 700):
            packed, state = samples.weight((512, 1024), device="cuda")
            tokens = torch.randn(count, 1024, device="cuda").bfloat16()
            graph, result = samples.captured(lambda: nf4.linear(tokens, packed, state))
            for seed in range(3):
                tokens.copy_(torch.randn(count, 1024))
                packed.copy_(samples.weight((512, 1024), seed=seed)[0])
                graph.replay()
                self.assertTrue(torch.equal(result, nf4.linear(tokens, packed, state)), count)

    def test_captured_products_follow_their_inputs_into_slices(self):
        for count in (1, 8, 64, 300, 700):
            shards = [samples.weight((rows, 1024), device="cuda", seed=rows) for rows in (512, 128, 72)]
            tokens = torch.randn(count, 1024, device="cuda").bfloat16()
            for width in (712, 720, 721):
                out = torch.full((count, width), 7.0, device="cuda").bfloat16()

                def work():
                    column = 0
                    for packed, state in shards:
                        nf4.linear(tokens, packed, state, out=out[:, column:column + state.shape[0]])
                        column += state.shape[0]
                    return out

                graph, result = samples.captured(work)
                tokens.copy_(torch.randn(count, 1024))
                graph.replay()
                expected = torch.cat([nf4.linear(tokens, *shard) for shard in shards], dim=1)
                torch.testing.assert_close(result[:, :712], expected)
                self.assertTrue((result[:, 712:] == 7).all())

    def test_a_captured_decode_follows_its_inputs(self):
        packed, state = samples.weight((512, 1024), device="cuda")
        graph, result = samples.captured(lambda: nf4.fast_dequantize(packed, state, use_global_buffer=True))
        packed.copy_(samples.weight((512, 1024), seed=9)[0])
        graph.replay()
        self.assertTrue(torch.equal(result, samples.decoded(packed, state)))

    def test_compiled_with_cuda_graphs(self):
        packed, state = samples.weight((512, 1024), device="cuda")
        compiled = torch.compile(lambda x: nf4.linear(torch.relu(x), packed, state) + 1, mode="reduce-overhead",
                                 fullgraph=True)
        for _ in range(4):
            tokens = torch.randn(8, 1024, device="cuda").bfloat16()
            expected = nf4.linear(torch.relu(tokens), packed, state) + 1
            torch.compiler.cudagraph_mark_step_begin()
            self.assertTrue(torch.equal(compiled(tokens), expected))

    def test_a_weight_that_was_written_just_now(self):
        # A kernel may be launched before the one in front has ended; it must not read too early.
        for seed in range(40):
            packed, state = samples.weight((2048, 4096), device="cuda", seed=seed % 4)
            tokens = torch.randn(4, 4096, device="cuda").bfloat16()
            nf4.linear(tokens, packed, state)
            changed = packed ^ 0x5a
            torch.cuda.synchronize()
            if seed % 2:
                packed.bitwise_xor_(0x5a)
                fresh = packed
            else:
                fresh = packed ^ 0x5a
            result = nf4.linear(tokens, fresh, state)
            self.assertTrue(torch.equal(result, nf4.linear(tokens, changed, state)), seed)

    def test_streams(self):
        packed, state = samples.weight((4096, 4096), device="cuda")
        expected = samples.decoded(packed, state)
        side = torch.cuda.Stream()
        for _ in range(20):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                result = nf4.dequantize(packed, state)
            torch.cuda.current_stream().wait_stream(side)
            self.assertTrue(torch.equal(result, expected))
            result.record_stream(torch.cuda.current_stream())

    def test_no_call_waits_for_the_device(self):
        packed, state = samples.weight((512, 1024), device="cuda")
        tokens = torch.randn(8, 1024, device="cuda").bfloat16()
        nf4.linear(tokens, packed, state)
        torch.cuda.set_sync_debug_mode("error")
        try:
            nf4.linear(tokens, packed, state)
            nf4.dequantize(packed, state)
        finally:
            torch.cuda.set_sync_debug_mode("default")


if __name__ == "__main__":
    unittest.main()
