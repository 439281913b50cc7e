#!/usr/bin/env python3
"""nf4bench.torch.dequantize, linear and fast_dequantize, on the CPU and, where there is one, a GPU."""

import copy
import gc
import threading
import types
import unittest

import samples
import torch

import nf4bench.torch as nf4
from nf4bench.torch import functions, originals, weights


def for_each(**choices):
    """Runs a test for all combinations, each as a subtest."""
    def decorate(test):
        def run(self, chosen=(), left=tuple(choices)):
            if not left:
                with self.subTest(**dict(chosen)):
                    test(self, **dict(chosen))
                return
            for each in choices[left[0]]:
                run(self, (*chosen, (left[0], each)), left[1:])
        def wrapper(self):
            run(self)
        wrapper.__name__ = test.__name__
        return wrapper
    return decorate


class Dequantize(unittest.TestCase):
    @for_each(device=samples.DEVICES, dtype=samples.TYPES, nested=(False, True),
              shape=((48, 128), (7, 33), (100,), (3, 16, 96), (1, 1)))
    def test_every_bit(self, device, dtype, nested, shape):
        packed, state = samples.weight(shape, dtype, nested=nested, device=device)
        result = nf4.dequantize(packed, state)
        self.assertEqual((result.dtype, result.shape, result.device.type), (dtype, torch.Size(shape), device))
        self.assertTrue(torch.equal(result, samples.decoded(packed, state)))

    @for_each(device=samples.DEVICES, blocksize=(32, 64, 128, 256, 512, 1024, 2048, 4096), nested=(False, True))
    def test_every_blocksize(self, device, blocksize, nested):
        packed, state = samples.weight((40, 200), blocksize=blocksize, nested=nested, device=device)
        self.assertTrue(torch.equal(nf4.dequantize(packed, state), samples.decoded(packed, state)))

    @for_each(device=samples.DEVICES)
    def test_into_an_output_of_any_strides(self, device):
        packed, state = samples.weight((6, 64), device=device)
        expected = samples.decoded(packed, state)
        for out in (torch.zeros(6, 64), torch.zeros(64, 6).t(), torch.zeros(6 * 64 + 1)[1:].view(6, 64)):
            out = out.to(device, torch.bfloat16) if out.is_contiguous() else out.to(torch.bfloat16).to(device)
            self.assertIs(nf4.dequantize(packed, state, out=out), out)
            self.assertTrue(torch.equal(out, expected))

    def test_writes_to_out_are_seen_by_autograd(self):
        packed, state = samples.weight((48, 64), torch.float32)
        before, after = samples.arguments(packed, state)
        for decode in (lambda out: nf4.dequantize(packed, state, out=out),
                       lambda out: nf4.fast_dequantize(packed, state, out=out),
                       lambda out: torch.ops.nf4.dequantize_out(*before, out, *after)):
            out = torch.randn(48, 64)
            loss = (out * torch.ones(48, 64, requires_grad=True)).sum()
            decode(out)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                loss.backward()
            out.requires_grad_()
            with self.assertRaisesRegex(ValueError, "out must not require one"):
                decode(out)
            with torch.no_grad():
                decode(out)
            self.assertTrue(torch.equal(out.detach(), samples.decoded(packed, state)))

    @for_each(device=samples.DEVICES, storage=(torch.bfloat16, torch.float32))
    def test_any_storage_type(self, device, storage):
        packed, state = samples.weight(device=device)
        expected = samples.decoded(packed, state)
        self.assertTrue(torch.equal(nf4.dequantize(packed.flatten().view(storage).view(-1, 1), state), expected))

    def test_what_a_quant_state_becomes_is_seen(self):
        packed, state = samples.weight()
        nf4.dequantize(packed, state)
        other_packed, other = samples.weight(seed=2)
        for change in (lambda: setattr(state, "absmax", other.absmax), lambda: state.absmax.fill_(7),
                       lambda: setattr(state.state2, "absmax", other.state2.absmax * 2),
                       lambda: setattr(state, "offset", torch.tensor(3.0)),
                       lambda: packed.copy_(other_packed), lambda: setattr(packed, "data", other_packed + 1),
                       lambda: setattr(state, "shape", torch.Size((24, 256))),
                       lambda: state.absmax.set_(other.absmax.flip(0)),
                       lambda: setattr(state, "absmax", state.absmax.clone())):
            change()
            self.assertTrue(torch.equal(nf4.dequantize(packed, state), samples.decoded(packed, state)))
        state.absmax.untyped_storage().resize_(0)
        with self.assertRaisesRegex(ValueError, "absmax"):
            nf4.dequantize(packed, state)

    def test_a_shape_that_is_changed_in_place_is_seen(self):
        packed, state = samples.weight()
        state.shape = [48, 128]
        self.assertEqual(nf4.dequantize(packed, state).shape, (48, 128))
        state.shape[0] = 4
        with self.assertRaisesRegex(nf4.UnsupportedWeight, "3072 bytes"):
            nf4.dequantize(packed, state)

    def test_a_view_of_other_bytes_is_seen(self):
        packed, state = samples.weight()
        square = packed.view(48, 64)
        self.assertTrue(torch.equal(nf4.dequantize(square, state), samples.decoded(packed, state)))
        with self.assertRaisesRegex(nf4.UnsupportedWeight, "not contiguous"):
            nf4.dequantize(square.t(), state)

    @for_each(device=samples.DEVICES)
    def test_is_transposed_where_packed_is(self, device):
        packed, state = samples.weight(device=device)
        expected = samples.decoded(packed, state)
        self.assertTrue(torch.equal(nf4.dequantize(packed.t(), state), expected.t()))
        out = torch.empty_like(expected)
        self.assertTrue(torch.equal(nf4.dequantize(packed.t(), state, out=out), expected.t()))
        self.assertTrue(torch.equal(out, expected))

    def test_inference_tensors(self):
        with torch.inference_mode():
            packed, state = samples.weight()
            for _ in range(2):
                self.assertTrue(torch.equal(nf4.dequantize(packed, state), samples.decoded(packed, state)))

    def test_nothing_is_kept_alive(self):
        packed, state = samples.weight()
        nf4.dequantize(packed, state)
        self.assertIn(id(state.absmax), weights._remembered)
        key = id(state.absmax)
        del state
        gc.collect()
        self.assertNotIn(key, weights._remembered)

    def test_copies_and_pickles_stay_what_they_were(self):
        packed, state = samples.weight()
        nf4.dequantize(packed, state)
        self.assertEqual(set(vars(state)), set(vars(samples.weight()[1])))
        again = copy.deepcopy(state)
        self.assertTrue(torch.equal(nf4.dequantize(packed, again), samples.decoded(packed, state)))

    def test_bad_input_is_named(self):
        packed, state = samples.weight()

        def changed(**members):
            other = copy.copy(state)
            vars(other).update(members)
            return other

        plain = samples.weight(nested=False)[1]
        for words, arguments in [
                ("quant_type is 'fp4'", (packed, changed(quant_type="fp4"))),
                ("blocksize 48", (packed, changed(blocksize=48))),
                ("packed has 3072 bytes", (packed, changed(shape=torch.Size((480, 128))))),
                ("absmax has 96 bytes", (packed, changed(blocksize=32))),
                ("no elements", (packed, changed(shape=torch.Size((0, 128))))),
                ("no elements", (packed, changed(shape=torch.Size(())))),
                ("the shape None", (packed, changed(shape=None))),
                ("the shape 5", (packed, changed(shape=5))),
                ("no whole numbers", (packed, changed(shape=(48.0, 128)))),
                ("no whole numbers", (packed, changed(blocksize=64.0))),
                ("packed has 3072 bytes", (packed, changed(shape=torch.Size((24, 128))))),
                ("packed has 3072 bytes", (packed, changed(shape=torch.Size((48, 127))))),
                ("absmax has 96 bytes", (packed, changed(blocksize=128))),
                ("decoded in torch.float16", (packed, changed(state2=types.SimpleNamespace(
                    **{**vars(state.state2), "dtype": torch.float16})))),
                ("nested_absmax is torch.float16", (packed, changed(state2=types.SimpleNamespace(
                    **{**vars(state.state2), "absmax": state.state2.absmax.half()})))),
                ("nested_map has 2048 bytes", (packed, changed(state2=types.SimpleNamespace(
                    **{**vars(state.state2), "code": state.state2.code.repeat(2)})))),
                ("absmax is not a tensor whose memory", (packed, changed(
                    absmax=torch._neg_view(plain.absmax), state2=None))),
                ("packed is not a tensor whose memory", (samples.Wrapper(packed), state)),
                ("packed is NoneType", (None, state)),
                ("absmax is torch.float32", (packed, changed(absmax=plain.absmax))),
                ("absmax is torch.uint8", (packed, changed(state2=None))),
                ("absmax is torch.float16", (packed, changed(absmax=plain.absmax.half(), state2=None))),
                ("absmax is NoneType", (packed, changed(absmax=None))),
                ("absmax is on meta", (packed, changed(absmax=state.absmax.to("meta")))),
                ("packed is on meta", (packed.to("meta"), state)),
                ("packed is not contiguous", (packed.repeat(1, 2)[:, :1], state)),
                ("no quant_state", (packed, 5)),
                ("no quant_state", (packed, object())),
                ("no quant_state", (packed, [1, 2])),
                ("repacked", (packed, changed(packing_format_for_cpu=True)))]:
            with self.subTest(words), self.assertRaisesRegex(nf4.UnsupportedWeight, words):
                nf4.dequantize(*arguments, dtype=torch.bfloat16)
        for no_state in (None, 5, object(), [1, 2]):
            for work in (nf4.dequantize, lambda *weight: nf4.linear(torch.zeros(1, 128), *weight)):
                with self.assertRaisesRegex(nf4.UnsupportedWeight, "no quant_state"):
                    work(torch.nn.Linear(128, 48).weight, no_state)
        with self.assertRaisesRegex(ValueError, "float64"):
            nf4.dequantize(packed, state, torch.float64)
        with self.assertRaisesRegex(ValueError, "shape"):
            nf4.dequantize(packed, state, out=torch.empty(128, 48, dtype=torch.bfloat16))
        with self.assertRaisesRegex(ValueError, "int32"):
            nf4.dequantize(packed, state, out=torch.empty(48, 128, dtype=torch.int32))
        with self.assertRaisesRegex(ValueError, "meta"):
            nf4.dequantize(packed, state, out=torch.empty(48, 128, dtype=torch.bfloat16, device="meta"))

    def test_a_view_that_is_not_aligned_is_refused_or_copied(self):
        packed, state = samples.weight()
        shifted = torch.cat([packed[:1], packed])[1:]
        with self.assertRaisesRegex(nf4.UnsupportedWeight, "not a multiple of 16"):
            nf4.dequantize(shifted, state)
        before, after = samples.arguments(shifted, state)
        result = torch.ops.nf4.dequantize(*before, torch.bfloat16, *after)
        self.assertTrue(torch.equal(result, samples.decoded(packed, state)))

    @for_each(device=samples.DEVICES)
    def test_threads(self, device):
        failures = []

        def work(seed):
            packed, state = samples.weight((64, 128), nested=seed % 2 == 0, device=device, seed=seed)
            expected = samples.decoded(packed, state)
            tokens = torch.randn(3, 128, generator=torch.Generator().manual_seed(seed)).to(device, torch.bfloat16)
            for _ in range(50):
                if not torch.equal(nf4.dequantize(packed, state), expected):
                    failures.append(seed)
                if samples.product_error(nf4.linear(tokens, packed, state), tokens, expected) > 1:
                    failures.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(failures, [])


class Linear(unittest.TestCase):
    @for_each(device=samples.DEVICES, dtype=samples.TYPES, nested=(False, True), count=(1, 2, 5, 33, 700))
    def test_is_near_the_truth(self, device, dtype, nested, count):
        packed, state = samples.weight((72, 192), dtype, nested=nested, device=device)
        tokens = torch.randn(count, 192, device=device).to(dtype)
        bias = torch.randn(72, device=device).to(dtype)
        values = samples.decoded(packed, state, torch.float32)
        for each in (None, bias):
            result = nf4.linear(tokens, packed, state, each)
            self.assertEqual((result.dtype, result.shape), (dtype, (count, 72)))
            self.assertLess(samples.product_error(result, tokens, values, each), 1)

    @for_each(device=samples.DEVICES, shape=((64,), (1, 64), (0, 64), (2, 3, 64), (2, 0, 64), (1, 1, 1, 64)))
    def test_any_leading_dimensions(self, device, shape):
        packed, state = samples.weight((32, 64), device=device)
        tokens = torch.randn(shape, device=device).bfloat16()
        result = nf4.linear(tokens, packed, state)
        self.assertEqual(result.shape, (*shape[:-1], 32))
        expected = tokens.float() @ samples.decoded(packed, state).float().t()
        torch.testing.assert_close(result.float(), expected, rtol=2e-2, atol=6e-2)

    @for_each(device=samples.DEVICES)
    def test_rows_that_blocks_do_not_divide(self, device):
        packed, state = samples.weight((40, 100), device=device)
        tokens = torch.randn(3, 100, device=device).bfloat16()
        error = samples.product_error(nf4.linear(tokens, packed, state), tokens,
                                      samples.decoded(packed, state, torch.float32))
        self.assertLess(error, 1)

    @for_each(device=samples.DEVICES)
    def test_tokens_of_any_strides(self, device):
        packed, state = samples.weight((32, 64), device=device)
        tokens = torch.randn(5, 64, device=device).bfloat16()
        expected = nf4.linear(tokens, packed, state)
        shifted = torch.zeros(5 * 64 + 1, device=device).bfloat16()
        shifted[1:] = tokens.flatten()
        for each in (tokens.t().contiguous().t(), tokens.repeat(1, 2)[:, :64], shifted[1:].view(5, 64)):
            self.assertTrue(torch.equal(nf4.linear(each, packed, state), expected))
        self.assertTrue(torch.equal(nf4.linear(tokens[:1].expand(5, 64), packed, state)[3], expected[0]))

    @for_each(device=samples.DEVICES)
    def test_modes(self, device):
        packed, state = samples.weight((32, 64), device=device)
        tokens = torch.randn(5, 64, device=device).bfloat16()
        expected = nf4.linear(tokens, packed, state)
        with torch.inference_mode():
            self.assertTrue(torch.equal(nf4.linear(tokens, packed, state), expected))
        with torch.no_grad():
            self.assertTrue(torch.equal(nf4.linear(tokens.clone().requires_grad_(), packed, state), expected))
        for count in (5, 900):  # those that libnf4 multiplies, and those that a BLAS does
            many = tokens[:1].expand(count, 64).contiguous()
            with torch.autocast(device, dtype=torch.float16):
                self.assertIs(nf4.linear(many, packed, state).dtype, torch.bfloat16)
                self.assertIs(nf4.linear(many.requires_grad_(), packed, state).dtype, torch.bfloat16)

    @for_each(device=samples.DEVICES, dtype=samples.TYPES, count=(1, 2, 5, 65, 512, 700), rows=(72, 37, 1))
    def test_into_slices_of_rows(self, device, dtype, count, rows):
        packed, state = samples.weight((rows, 192), dtype, device=device)
        tokens, bias = torch.randn(count, 192, device=device).to(dtype), torch.randn(rows, device=device).to(dtype)
        values = samples.decoded(packed, state, torch.float32)
        for each in (None, bias):
            expected = nf4.linear(tokens, packed, state, each)
            for width, column in ((rows + 16, 16), (rows + 11, 8), (rows, 0), (rows + 5, 3)):
                everything = torch.full((count, width), 7.0, dtype=dtype, device=device)
                out = everything[:, column:column + rows]
                self.assertIs(nf4.linear(tokens, packed, state, each, out=out), out)
                if count <= 512 and device == "cpu":
                    self.assertTrue(torch.equal(out, expected), (width, column))
                self.assertLess(samples.product_error(out, tokens, values, each), 1)
                out.fill_(7)
                self.assertTrue((everything == 7).all())

    def test_into_any_strides(self):
        packed, state = samples.weight((32, 64))
        tokens = torch.randn(2, 3, 64).bfloat16()
        expected = nf4.linear(tokens, packed, state)
        apart = torch.zeros(4, 5, 80).bfloat16()
        for out in (torch.zeros(2, 3, 48).bfloat16()[..., 8:40],  # rows equally far apart
                    apart[::2, :3, :32], apart[:2, ::2, 8:40],  # rows that are not
                    torch.zeros(32, 3, 2).bfloat16().permute(2, 1, 0), torch.zeros(3, 2, 32).bfloat16().transpose(0, 1),
                    torch.zeros(2, 3, 32).bfloat16(), torch.zeros(193).bfloat16()[1:].view(2, 3, 32)):
            self.assertTrue(torch.equal(nf4.linear(tokens, packed, state, out=out), expected))
            self.assertTrue(torch.equal(out, expected))
        self.assertEqual(int((apart != 0).any(-1).sum()), 6 + 6 - 2)  # rows; two of them twice
        one = torch.zeros(1, 1, 96).bfloat16()[..., 16:48]
        self.assertTrue(torch.equal(nf4.linear(tokens[:1, :1], packed, state, out=one), expected[:1, :1]))
        empty = torch.empty(0, 48).bfloat16()[:, :32]
        self.assertIs(nf4.linear(tokens[0, :0], packed, state, out=empty), empty)

    def test_into_memory_that_is_read(self):
        packed, state = samples.weight((64, 64))
        for count in (3, 600):
            memory = torch.randn(count, 128).bfloat16()
            for columns, from_columns in ((0, 0), (0, 32), (32, 0), (64, 0)):
                rows = memory.clone()
                tokens, out = rows[:, from_columns:from_columns + 64], rows[:, columns:columns + 64]
                expected = nf4.linear(tokens.clone(), packed, state)
                nf4.linear(tokens, packed, state, out=out)
                torch.testing.assert_close(out, expected)
            rows = torch.randn(count, 64).bfloat16()
            expected = nf4.linear(rows, packed, state, rows[1])
            torch.testing.assert_close(nf4.linear(rows.clone(), packed, state, rows[1], out=rows), expected)

    def test_writes_to_out_are_seen_by_autograd(self):
        packed, state = samples.weight((64, 64), torch.float32)
        tokens, out = torch.randn(3, 64), torch.randn(3, 64)
        loss = (out * torch.ones(3, 64, requires_grad=True)).sum()
        nf4.linear(tokens, packed, state, out=out)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()
        for name in ("tokens", "bias", "out"):
            given = {"tokens": tokens, "bias": torch.zeros(64), "out": out}
            given[name] = given[name].clone().requires_grad_()
            with self.assertRaisesRegex(ValueError, "no gradient"):
                nf4.linear(given["tokens"], packed, state, given["bias"], given["out"])
            before, after = samples.arguments(packed, state)
            with self.assertRaisesRegex(ValueError, "no gradient"):
                torch.ops.nf4.linear_out(given["tokens"], *before, given["out"], given["bias"], *after)
            with torch.no_grad():
                nf4.linear(given["tokens"], packed, state, given["bias"], given["out"])
        with torch.inference_mode():
            slots = torch.zeros(3, 80)
            nf4.linear(tokens, packed, state, out=slots[:, 16:])
        self.assertTrue(torch.equal(slots[:, 16:], out))

    def test_tangents_flow_through_products(self):
        packed, state = samples.weight((48, 64), torch.float32)
        values = samples.decoded(packed, state)
        tokens, tangent, bias = torch.randn(3, 64), torch.randn(3, 64), torch.randn(48)
        for work in (lambda x: nf4.linear(x, packed, state), lambda x: nf4.linear(x, packed, state, bias)):
            result, along = torch.func.jvp(work, (tokens,), (tangent,))
            torch.testing.assert_close(along, tangent @ values.t())
            torch.testing.assert_close(result, work(tokens))
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(tokens, tangent)
            with self.assertRaisesRegex(ValueError, "no gradient"):
                nf4.linear(dual, packed, state, out=torch.empty(3, 48))

    def test_tensors_whose_memory_is_not_what_they_hold(self):
        packed, state = samples.weight((32, 64), torch.float32)
        tokens, bias = torch.randn(3, 64), torch.randn(32)
        expected = nf4.linear(tokens, packed, state, bias)
        negated = torch._neg_view(-tokens), torch._neg_view(-bias)
        for x, b in ((tokens, samples.Wrapper(bias)), (samples.Wrapper(tokens), bias), (tokens, negated[1]),
                     (negated[0], bias), negated):
            self.assertTrue(torch.equal(nf4.linear(x, packed, state, b), expected))
        zero = torch._efficientzerotensor((3, 64))
        self.assertTrue(torch.equal(nf4.linear(zero, packed, state, bias), bias.expand(3, 32)))
        for x, b in ((tokens.to_sparse(), bias), (tokens, bias.to_sparse())):
            with self.assertRaises(NotImplementedError):
                nf4.linear(x, packed, state, b)
        inside = torch.empty(32, 64)
        nf4.dequantize(packed, state, out=samples.Wrapper(inside))
        self.assertTrue(torch.equal(inside, samples.decoded(packed, state)))
        inside = torch.zeros(3, 48)
        for out in (samples.Wrapper(inside[:, 8:40]), torch._neg_view(inside)[:, 8:40]):
            inside.zero_()
            nf4.linear(tokens, packed, state, bias, out=out)
            self.assertTrue(torch.equal(out.inside if type(out) is samples.Wrapper else out, expected))

    def test_bad_input_is_named(self):
        packed, state = samples.weight((32, 64))
        good = torch.zeros(2, 64).bfloat16()
        for words, tokens, bias in [
                ("64 inputs", torch.zeros(2, 63).bfloat16(), None), ("float64", good.double(), None),
                ("int64", good.long(), None), ("meta", good.to("meta"), None), ("64 inputs", torch.tensor(1.0), None),
                ("bias", good, torch.zeros(31).bfloat16()), ("bias", good, torch.zeros(32)),
                ("bias", good, torch.zeros(32, 1).bfloat16()), ("bias", good, torch.zeros(32).bfloat16().to("meta"))]:
            for gradient in (False, True):
                if gradient and tokens.is_floating_point():
                    tokens = tokens.clone().requires_grad_()
                with self.subTest(words, gradient=gradient), self.assertRaisesRegex((ValueError, RuntimeError), words):
                    nf4.linear(tokens, packed, state, bias)
        with self.assertRaisesRegex(ValueError, "two dimensions"):
            nf4.linear(good, *samples.weight((2, 16, 64)))
        fits = torch.zeros(2, 32).bfloat16()
        for out in (fits[:1], fits[:, :31], fits[None], fits.float(), fits.to("meta")):
            with self.assertRaisesRegex(ValueError, "out is"):
                nf4.linear(good, packed, state, out=out)


class FastDequantize(unittest.TestCase):
    @for_each(device=samples.DEVICES, nested=(False, True))
    def test_as_unsloths(self, device, nested):
        packed, state = samples.weight(nested=nested, device=device)
        expected = samples.decoded(packed, state)
        self.assertIs(nf4.fast_dequantize(packed), packed)
        self.assertTrue(torch.equal(nf4.fast_dequantize(packed, state), expected))
        transposed = nf4.fast_dequantize(packed.t(), state)
        self.assertEqual(transposed.shape, (128, 48))
        self.assertTrue(torch.equal(transposed, expected.t()))
        out = torch.empty_like(expected)
        self.assertEqual(nf4.fast_dequantize(packed, state, out).data_ptr(), out.data_ptr())
        self.assertTrue(torch.equal(out, expected))
        first = nf4.fast_dequantize(packed, state, use_global_buffer=True)
        second = nf4.fast_dequantize(packed, state, use_global_buffer=True)
        self.assertEqual(first.data_ptr(), second.data_ptr())
        self.assertTrue(torch.equal(second, expected))
        with self.assertRaisesRegex(ValueError, "out"):
            nf4.fast_dequantize(packed, state, torch.empty(48, 128))

    def test_list_of_old(self):
        packed, state = samples.weight()
        nested = [state.offset, [state.state2.absmax, state.state2.code, 256, None, None, None, None]]
        fields = [state.absmax, state.shape, state.dtype, state.blocksize, nested, "nf4", state.code]
        self.assertTrue(torch.equal(nf4.fast_dequantize(packed, fields), samples.decoded(packed, state)))
        fields[5] = "fp4"
        with self.assertRaisesRegex(ValueError, "fp4"):
            nf4.fast_dequantize(packed, fields)

    def test_a_larger_weight_gets_a_larger_buffer(self):
        functions._buffers.clear()
        for shape in ((8, 64), (32, 64), (8, 64)):
            packed, state = samples.weight(shape)
            result = nf4.fast_dequantize(packed, state, use_global_buffer=True)
            self.assertTrue(torch.equal(result, samples.decoded(packed, state)))
        self.assertEqual(len(functions._buffers), 1)


class Originals(unittest.TestCase):
    def test_what_is_not_known_is_strange(self):
        def fast_gemv(X, W, quant_state, out=None):
            return X

        def matmul_4bit(A, B, quant_state, out=None, bias=None):
            return A

        self.assertIsNone(originals.strange_parameters(fast_gemv, "X W quant_state out"))
        self.assertIn("it takes (X W quant_state out)", originals.strange_parameters(fast_gemv, "X W quant_state"))
        matmul_4bit.__qualname__ = "matmul_4bit"
        self.assertIn("is not known", originals.strange_code(matmul_4bit))
        self.assertIn("cannot be read", originals.strange_code(len))
        self.assertIn("cannot be read", originals.strange_code(eval("lambda: 0")))


if __name__ == "__main__":
    unittest.main()
