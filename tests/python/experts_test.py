#!/usr/bin/env python3
"""torch.ops.nf4.grouped_linear and experts: against the decoded weights, under PyTorch's checks, in CUDA graphs."""

import itertools
import unittest
import unittest.mock

import samples
import torch
from torch import library as registry

import nf4bench.torch as nf4

E, H, I = 5, 64, 96
KINDS = ("silu", "gelu_tanh", "gptoss", "relu2")


def stack(outputs, inputs, dtype=torch.float32, nested=False, transposed=False, device="cpu", bias=True, seed=1,
          count=E):
    """A Stack and its decoded matrices [E, N, K]."""
    shape = (count, inputs, outputs) if transposed else (count, outputs, inputs)
    packed, state = samples.weight(shape, dtype, nested=nested, device=device, seed=seed)
    state.absmax = state.absmax if nested else state.absmax * 0.1
    draw = torch.Generator().manual_seed(seed)
    bias = torch.randn(count, outputs, generator=draw).to(device, dtype) if bias else None
    values = samples.decoded(packed, state)
    return nf4.Stack(packed, state, bias, transposed), values.transpose(1, 2) if transposed else values


def routing(tokens, top_k, device="cpu", seed=1, count=E, dtype=torch.float32):
    """Ids, of which some are no expert's and some twice a token's, and weights."""
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(-1, count + 1, (tokens, top_k), generator=draw)
    return ids.to(device), torch.randn(tokens, top_k, generator=draw).to(device, dtype)


def by_definition(x, values, bias, ids, weights, combine=False):
    """Slot by slot, in the type of x."""
    rows = []
    for slot, e in enumerate(ids.flatten().tolist()):
        if not 0 <= e < values.shape[0]:
            rows.append(x.new_zeros(values.shape[1]))
            continue
        row = values[e] @ x[slot if x.shape[0] == ids.numel() else slot // ids.shape[1]]
        row = row if bias is None else row + bias[e]
        rows.append(row if weights is None else row * weights.flatten()[slot])
    rows = torch.stack(rows)
    return rows.view(*ids.shape, -1).sum(1) if combine else rows


def act(products, kind, gated, interleaved, alpha, limit):
    """The activation as nf4.h has it."""
    if not gated:
        gate, up = products, torch.ones((), dtype=products.dtype)
    elif interleaved:
        gate, up = products[:, 0::2], products[:, 1::2]
    else:
        gate, up = products.chunk(2, dim=-1)
    if limit:
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    if kind == "gptoss":
        return (up + 1) * gate * torch.sigmoid(alpha * gate)
    return {"silu": torch.nn.functional.silu, "relu2": lambda x: x.relu() ** 2,
            "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh")}[kind](gate) * up


def operands(stack):
    """A stack as the operators take it: its four first arguments, and the nested ones."""
    return stack.parts[:4], stack.nested or (None,) * 3


class GroupedLinear(unittest.TestCase):
    def test_is_the_product_of_the_chosen_matrices(self):
        for device, dtype, nested, transposed, top_k, combine, weighted, per_slot in itertools.product(
                samples.DEVICES, samples.TYPES, (False, True), (False, True), (1, 3), (False, True), (False, True),
                (False, True)):
            w, values = stack(40, 64, dtype, nested, transposed, device)
            ids, weights = routing(7, top_k, device)
            ids = ids if weighted else ids.int()
            weights = weights.to(dtype if per_slot else torch.float32) if weighted else None
            x = torch.randn(7 * top_k if per_slot else 7, 64, device=device).to(dtype)
            result = nf4.grouped_linear(x, w, ids, weights, combine=combine)
            expected = by_definition(x.float(), values.float(), w.bias.float(), ids,
                                     None if weights is None else weights.float(), combine)
            error = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}[dtype]
            with self.subTest(device=device, dtype=dtype, nested=nested, transposed=transposed, top_k=top_k):
                self.assertEqual((result.dtype, result.shape), (dtype, expected.shape))
                torch.testing.assert_close(result.float(), expected, rtol=error, atol=error * 10)

    def test_tensors_whose_memory_is_not_what_they_hold(self):
        w, _ = stack(40, 64)
        x, (ids, weights), bias = torch.randn(4, 64), routing(4, 2), w.bias
        expected = nf4.grouped_linear(x, w, ids, weights)
        for rows, scale, b in ((torch._neg_view(-x), weights, bias), (samples.Wrapper(x), weights, bias),
                               (x, torch._neg_view(-weights), bias), (x, samples.Wrapper(weights), bias),
                               (x, weights, torch._neg_view(-bias)), (x, weights, samples.Wrapper(bias)),
                               (x.t().contiguous().t(), weights.t().contiguous().t(), bias.t().contiguous().t())):
            w.bias = b
            self.assertTrue(torch.equal(nf4.grouped_linear(rows, w, ids, scale), expected))
        w.bias = bias
        self.assertTrue(torch.equal(nf4.grouped_linear(x, w, ids.t().contiguous().t(), weights), expected))
        with torch.autocast("cpu", torch.float16):
            self.assertTrue(torch.equal(nf4.grouped_linear(x, w, ids, weights), expected))
            self.assertIs(nf4.grouped_linear(x.requires_grad_(), w, ids, weights).dtype, torch.float32)

    def test_sorted_rows(self):
        for device in samples.DEVICES:
            w, values = stack(40, 64, nested=True, device=device)
            x = torch.randn(11, 64, device=device)
            for ends in ([2, 2, 5, 5, 9], [11] * 5, [0] * 5, [4, 2, 99, 99, 99]):
                ids = torch.tensor([next((e for e, end in enumerate(ends) if end > row), -1) for row in range(11)])
                expected = by_definition(x, values, w.bias, ids[:, None].to(device), None)
                for dtype in (torch.int32, torch.int64):
                    result = nf4.grouped_linear(x, w, torch.tensor(ends, dtype=dtype, device=device), sorted=True)
                    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)

    def test_transposed_stacks_that_are_decoded(self):
        from nf4bench.torch import grouped
        for dtype, combine, weighted, per_slot in itertools.product(
                (torch.float16, torch.bfloat16), *[(False, True)] * 3):
            w, _ = stack(40, 64, dtype, True, True)
            ids, weights = routing(7, 3, dtype=dtype)
            x = torch.randn(21 if per_slot else 7, 64).to(dtype)
            x[3] = float("nan") if per_slot else x[3]
            ids[1] = -1
            weights[1] = float("nan")
            arguments = (x, w, ids, weights if weighted else None)
            expected = nf4.grouped_linear(*arguments, combine=combine)
            ends = torch.tensor([0, 2, 1, 5, 6])
            expected_of_sorted = nf4.grouped_linear(x[:7], w, ends, sorted=True)
            with self.subTest(dtype=dtype, combine=combine, weighted=weighted, per_slot=per_slot), \
                    unittest.mock.patch.object(grouped, "is_decoded", lambda weight, transposed, *_: transposed):
                result = nf4.grouped_linear(*arguments, combine=combine)
                self.assertEqual((result.dtype, result.isnan().tolist()), (dtype, expected.isnan().tolist()))
                tolerance = {"rtol": 0, "atol": 0.02 * expected.nan_to_num().abs().max().item(), "equal_nan": True}
                torch.testing.assert_close(result, expected, **tolerance)
                torch.testing.assert_close(nf4.grouped_linear(x[:7], w, ends, sorted=True), expected_of_sorted,
                                           **tolerance)

    def test_what_no_expert_has_is_zero_and_reaches_nobody(self):
        w, _ = stack(40, 64)
        x, ids = torch.randn(4, 64), torch.tensor([[0, -1], [E, 1], [2**31, -2**40], [2, 3]])
        clean = nf4.grouped_linear(x, w, ids, torch.ones(4, 2))
        weights, rows = torch.ones(4, 2), x.clone()
        weights[0, 1] = weights[1, 0] = rows[2] = float("nan")
        self.assertTrue(torch.equal(nf4.grouped_linear(rows, w, ids, weights), clean))
        self.assertEqual(clean[[1, 2, 4, 5]].abs().max(), 0)
        x.requires_grad_(), weights.requires_grad_()
        nf4.grouped_linear(x, w, ids, weights, combine=True).sum().backward()
        self.assertFalse(x.grad.isnan().any() or weights.grad.isnan().any())

    def test_rows_do_not_depend_on_others(self):
        w, _ = stack(40, 64, torch.bfloat16)
        x, (ids, weights) = torch.randn(9, 64).bfloat16(), routing(9, 3)
        result = nf4.grouped_linear(x, w, ids, weights, combine=True)
        order = torch.randperm(9)
        self.assertTrue(torch.equal(nf4.grouped_linear(x[order], w, ids[order], weights[order], combine=True),
                                    result[order]))

    def test_gradients(self):
        for sorted_rows, combine, per_slot, biased, transposed in itertools.product((False, True), repeat=5):
            if sorted_rows and (combine or per_slot):
                continue
            w, values = stack(40, 64, nested=True, transposed=transposed, bias=biased)
            ids, weights = routing(6, 1 if sorted_rows else 3)
            x = torch.randn(ids.numel() if per_slot else 6, 64)
            ends = torch.tensor([1, 1, 4, 4, 5], dtype=torch.int32)
            if sorted_rows:
                ids = torch.tensor([[0], [2], [2], [2], [4], [-1]])
            leaves = [each.clone().requires_grad_() for each in (x, weights, *([w.bias] if biased else []))]
            others = [each.detach().clone().requires_grad_() for each in leaves]
            w.bias = leaves[2] if biased else None
            result = nf4.grouped_linear(leaves[0], w, ends if sorted_rows else ids, leaves[1], sorted_rows, combine)
            expected = by_definition(others[0], values, others[2] if biased else None, ids, others[1], combine)
            direction = torch.randn_like(expected)
            (result * direction).sum().backward()
            (expected * direction).sum().backward()
            with self.subTest(sorted=sorted_rows, combine=combine, per_slot=per_slot, biased=biased):
                torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
                for ours, theirs in zip(leaves, others):
                    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-4)

    def test_opcheck(self):
        operator = torch.ops.nf4.grouped_linear.default
        for device, nested, gradient in itertools.product(samples.DEVICES, (False, True), (False, True)):
            w, _ = stack(40, 64, nested=nested, device=device)
            before, after = operands(w)
            ids, weights = routing(6, 3, device)
            x = torch.randn(6, 64, device=device).requires_grad_(gradient)
            weights, bias = weights.requires_grad_(gradient), w.bias.requires_grad_(gradient)
            registry.opcheck(operator, (x, *before, ids, weights, bias, *after))
            registry.opcheck(operator, (x, *before, ids, weights, bias, *after, False, False, True))
            ends = torch.tensor([1, 1, 4, 4, 6], dtype=torch.int32, device=device)
            registry.opcheck(operator, (x, *before, ends, None, None, *after, True))

    def test_bad_arguments_are_named(self):
        w, _ = stack(40, 64)
        x, (ids, weights) = torch.randn(4, 64), routing(4, 2)
        for words, arguments in [
                ("rows of 64", (x[:, :63], ids, weights)), ("rows of 64", (x[None], ids, weights)),
                ("neither int32", (x, ids.short(), weights)), ("slots of a token", (x, ids[0], weights)),
                ("3 rows are neither", (x[:3], ids, weights)), ("one a slot", (x, ids, weights[:3])),
                ("one a slot", (x, ids, weights.t())),
                ("one a slot", (x, ids, weights.double())), ("float64", (x.double(), ids, weights)),
                ("ids is on meta", (x, ids.to("meta"), weights)), ("bias is torch.float32", (x.half(), ids, weights)),
                ("slots of a token", (x, ids[:, :0], None))]:
            for gradient in (False, True):
                rows = arguments[0].clone().requires_grad_(gradient)
                with self.subTest(words), self.assertRaisesRegex((ValueError, RuntimeError), words):
                    nf4.grouped_linear(rows, *([w] + list(arguments[1:])))
        with self.assertRaisesRegex(ValueError, "ends of 5"):
            nf4.grouped_linear(x, w, torch.zeros(4, dtype=torch.int32), sorted=True)
        with self.assertRaisesRegex(ValueError, "three dimensions"):
            nf4.Stack(*samples.weight())
        self.assertEqual(nf4.grouped_linear(x[:0], w, ids[:0], weights[:0]).shape, (0, 40))


    def test_a_gradient_with_every_default(self):
        w, values = stack(40, 64, bias=False)
        x, (ids, _) = torch.randn(4, 64), routing(4, 2)
        rows, same = x.clone().requires_grad_(), x.clone().requires_grad_()
        nf4.grouped_linear(rows, w, ids).sum().backward()
        by_definition(same, values, None, ids, None).sum().backward()
        torch.testing.assert_close(rows.grad, same.grad)

    def test_tangents_are_refused(self):
        w, _ = stack(64, 64)
        x, (ids, weights) = torch.randn(4, 64), routing(4, 2)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, x)
            for work in (lambda: nf4.grouped_linear(dual, w, ids),
                         lambda: nf4.experts(dual, ids, weights, w, w, gated=False)):
                with self.assertRaisesRegex(nf4.UnsupportedWeight, "forward-mode"):
                    work()


class Layer(unittest.TestCase):
    def arguments(self, dtype=torch.float32, device="cpu", gated=True, transposed=False, nested=True, bias=True):
        up = stack(2 * I if gated else I, H, dtype, nested, transposed, device, bias)
        down = stack(H, I, dtype, nested, transposed, device, bias, seed=2)
        return up, down, torch.randn(7, H, device=device).to(dtype) * 0.3, routing(7, 3, device)

    def expected(self, up, down, x, ids, weights, kinds, addend=None, biases=(None, None)):
        products = by_definition(x, up, biases[0], ids, None)
        products = products if addend is None else products + addend
        return by_definition(act(products, *kinds), down, biases[1], ids, weights, True)

    def test_is_the_layer_of_the_decoded_weights(self):
        for device, dtype, kind, gated, interleaved, limit, transposed in itertools.product(
                samples.DEVICES, samples.TYPES, KINDS, (True, False), (False, True), (0.0, 0.7), (False, True)):
            if interleaved and not gated:
                continue
            kinds = kind, gated, interleaved, 1.702, limit
            (up, first), (down, second), x, (ids, weights) = self.arguments(dtype, device, gated, transposed)
            result = nf4.experts(x, ids, weights, up, down, *kinds)
            addend = torch.zeros(ids.numel(), first.shape[1], device=device).to(dtype)
            unfused = nf4.experts(x, ids, weights, up, down, *kinds, addend)
            expected = self.expected(first.double(), second.double(), x.double(), ids, weights.double(), kinds,
                                     biases=(up.bias.double(), down.bias.double()))
            size = expected.abs().max().item()
            error = size * {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}[dtype]
            with self.subTest(device=device, dtype=dtype, kinds=kinds):
                torch.testing.assert_close(result.double(), expected, rtol=0, atol=error)
                torch.testing.assert_close(unfused.double(), expected, rtol=0, atol=error)

    def test_gradients(self):
        for kind, gated, interleaved, limit, transposed, with_addend in itertools.product(
                KINDS, (True, False), (False, True), (0.0, 0.7), (False, True), (False, True)):
            if interleaved and not gated:
                continue
            kinds = kind, gated, interleaved, 1.702, limit
            (up, first), (down, second), x, (ids, weights) = self.arguments(gated=gated, transposed=transposed)
            addend = torch.randn(ids.numel(), first.shape[1])
            leaves = [each.clone().requires_grad_() for each in (x, weights, up.bias, down.bias, addend)]
            others = [each.detach().double().requires_grad_() for each in leaves]
            up.bias, down.bias = leaves[2:4]
            result = nf4.experts(*leaves[:1], ids, leaves[1], up, down, *kinds, leaves[4] if with_addend else None)
            expected = self.expected(first.double(), second.double(), others[0], ids, others[1], kinds,
                                     others[4] if with_addend else None, others[2:4])
            direction = torch.randn_like(result)
            (result * direction).sum().backward()
            (expected * direction).sum().backward()
            for index in range(5 if with_addend else 4):
                wanted = others[index].grad.float()
                error = 2e-5 * wanted.abs().max().item()
                with self.subTest(kinds=kinds, transposed=transposed, index=index):
                    torch.testing.assert_close(leaves[index].grad, wanted, rtol=0, atol=error)

    def test_opcheck(self):
        operator = torch.ops.nf4.experts.default
        for device, nested, gradient in itertools.product(samples.DEVICES, (False, True), (False, True)):
            (up, _), (down, _), x, (ids, weights) = self.arguments(device=device, nested=nested)
            (before, after), (below, below_after) = operands(up), operands(down)
            leaves = x, weights, up.bias, down.bias, torch.randn(ids.numel(), 2 * I, device=device)
            x, weights, *biases, addend = (each.requires_grad_(gradient) for each in leaves)
            for each in (addend, None):
                registry.opcheck(operator, (x, ids, weights, *before, *below, *biases, each, *after, *below_after))

    def test_compiles_whole(self):
        for device in samples.DEVICES:
            (up, _), (down, _), x, (ids, weights) = self.arguments(torch.bfloat16, device)

            def layer(x, ids, weights):
                return nf4.experts(torch.relu(x), ids, weights, up, down) * 2

            def product(x, ids, weights):
                return nf4.grouped_linear(torch.relu(x), up, ids, weights, combine=True) * 2

            for work, dynamic in itertools.product((layer, product), (None, True)):
                torch._dynamo.reset()
                compiled = torch.compile(work, fullgraph=True, backend="aot_eager", dynamic=dynamic)
                for count in (7, 5, 2):
                    rows = x[:count], ids[:count], weights[:count]
                    self.assertTrue(torch.equal(compiled(*rows), work(*rows)))
                    first, second = (rows[0].clone().requires_grad_() for _ in range(2))
                    compiled(first, *rows[1:]).sum().backward()
                    work(second, *rows[1:]).sum().backward()
                    torch.testing.assert_close(first.grad, second.grad)

    def test_bad_arguments_are_named(self):
        (up, _), (down, _), x, (ids, weights) = self.arguments()
        for words, arguments, keywords in [
                ("do not follow", (x, ids, weights, up, up), {}),
                ("do not follow", (x, ids, weights, up, down), {"gated": False}),
                ("'relu' is none of", (x, ids, weights, up, down), {"activation": "relu"}),
                ("not the 7 tokens", (x.repeat(3, 1), ids, weights, up, down), {}),
                ("limit is -1.0", (x, ids, weights, up, down), {"limit": -1.0}),
                ("limit is nan", (x, ids, weights, up, down), {"limit": float("nan")}),
                ("addend", (x, ids, weights, up, down), {"addend": torch.zeros(3, 2 * I)})]:
            for gradient in (False, True):
                rows = arguments[0].clone().requires_grad_(gradient)
                with self.subTest(words), self.assertRaisesRegex((ValueError, RuntimeError), words):
                    nf4.experts(rows, *arguments[1:], **keywords)


class Stacks(unittest.TestCase):
    def test_what_is_empty_or_no_weight(self):
        w, _ = stack(40, 64)
        decoded = w.decode(torch.zeros(0, dtype=torch.int64), torch.float16)
        self.assertEqual((decoded.shape, decoded.dtype), ((0, 40, 64), torch.float16))
        for layers in ([], [()], [torch.nn.Linear(64, 40)]):
            with self.assertRaises(nf4.UnsupportedWeight):
                nf4.Stack.join(layers)

    def test_tensors_with_a_row_for_each_expert(self):
        w, values = stack(40, 64, bias=False)
        packed, absmax = w.packed.view(E, -1), w.absmax.view(E, -1)
        x, (ids, _) = torch.randn(3, 64), routing(3, 2)
        other = nf4.Stack.of_absmax(packed, absmax, (E, 40, 64))
        self.assertTrue(torch.equal(nf4.grouped_linear(x, other, ids), nf4.grouped_linear(x, w, ids)))

    def test_an_offset_for_each_expert(self):
        w, _ = stack(256, 64, nested=True, bias=False)
        outer, mapping, _ = w.nested
        offsets = torch.rand(E) + 0.5
        w.nested = outer, mapping, offsets
        x, ids = torch.randn(E, 64), torch.arange(E)[:, None]
        result = nf4.grouped_linear(x, w, ids)
        for e in range(E):
            w.nested = outer, mapping, offsets[e].clone()
            self.assertTrue(torch.equal(result[e], nf4.grouped_linear(x, w, ids)[e]))
        w.nested = outer, mapping, offsets
        with self.assertRaisesRegex(nf4.UnsupportedWeight, "one by one"):
            torch.ops.nf4.dequantize(*w.parts[:4], torch.float32, *w.nested)
        w, _ = stack(40, 64, nested=True)
        w.nested = (*w.nested[:2], offsets)
        with self.assertRaisesRegex(nf4.UnsupportedWeight, "share groups"):
            nf4.grouped_linear(x, w, ids)

    def test_blocks_and_bytes_that_straddle_experts(self):
        for transposed in (False, True):
            w, values = stack(7, 27, nested=True, transposed=transposed)
            x, (ids, weights) = torch.randn(6, 27), routing(6, 3)
            torch.testing.assert_close(nf4.grouped_linear(x, w, ids, weights),
                                       by_definition(x, values, w.bias, ids, weights), rtol=1e-4, atol=1e-4)

    def test_layers_that_are_joined(self):
        class Layer:
            def __init__(self, outputs, seed, nested):
                packed, state = samples.weight((outputs, 64), torch.float32, nested=nested, seed=seed)
                self.weight = torch.nn.Parameter(packed, requires_grad=False)
                self.weight.quant_state, self.values = state, samples.decoded(packed, state)
                self.bias = torch.randn(outputs)

        for nested in (False, True):
            gates, ups = ([Layer(24, seed + 9 * way, nested) for seed in range(E)] for way in range(2))
            joined = nf4.Stack.join(list(zip(gates, ups)))
            values = torch.stack([torch.cat((gate.values, up.values)) for gate, up in zip(gates, ups)])
            bias = torch.stack([torch.cat((gate.bias, up.bias)) for gate, up in zip(gates, ups)])
            x, (ids, weights) = torch.randn(6, 64), routing(6, 3)
            self.assertEqual(joined.sizes, (E, 48, 64))
            torch.testing.assert_close(nf4.grouped_linear(x, joined, ids, weights),
                                       by_definition(x, values, bias, ids, weights), rtol=1e-4, atol=1e-4)
            with self.assertRaisesRegex(nf4.UnsupportedWeight, "different outputs"):
                nf4.Stack.join([Layer(24, 1, nested), Layer(48, 1, nested)])


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class Graphs(unittest.TestCase):
    def test_routings_that_change_between_replays(self):
        for dtype, count in itertools.product((torch.bfloat16, torch.float16), (1, 8, 64, 700)):
            up, _ = stack(2 * I, H, dtype, device="cuda", nested=True, count=16)
            down, _ = stack(H, I, dtype, device="cuda", nested=True, count=16, seed=2)
            x = torch.randn(count, H, device="cuda").to(dtype)
            ids, weights = routing(count, 4, "cuda", count=16)
            works = (lambda: nf4.experts(x, ids, weights, up, down),
                     lambda: nf4.grouped_linear(x, up, ids, weights),
                     lambda: nf4.grouped_linear(x, up, ids, weights, combine=True))
            for work in works:
                graph, result = samples.captured(work)
                for seed in range(2, 6):
                    fresh, fresh_weights = routing(count, 4, "cuda", seed, 16)
                    ids.copy_(fresh if seed < 5 else torch.full_like(fresh, seed))
                    weights.copy_(fresh_weights)
                    x.copy_(torch.randn(count, H))
                    graph.replay()
                    self.assertTrue(torch.equal(result, work()), (dtype, count, seed))

    def test_no_call_waits_for_the_device(self):
        (up, _), (down, _) = stack(2 * I, H, torch.bfloat16, device="cuda"), stack(H, I, torch.bfloat16, device="cuda")
        x, (ids, weights) = torch.randn(7, H, device="cuda").bfloat16(), routing(7, 3, "cuda")
        nf4.experts(x, ids, weights, up, down)
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            nf4.experts(x, ids, weights, up, down)
            rows = x.clone().requires_grad_()
            nf4.experts(rows, ids, weights, up, down).sum().backward()
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def test_compiled_with_cuda_graphs(self):
        (up, _), (down, _) = stack(2 * I, H, torch.bfloat16, device="cuda"), stack(H, I, torch.bfloat16, device="cuda")
        compiled = torch.compile(lambda x, ids, weights: nf4.experts(torch.relu(x), ids, weights, up, down) + 1,
                                 mode="reduce-overhead", fullgraph=True)
        for seed in range(4):
            x, (ids, weights) = torch.randn(8, H, device="cuda").bfloat16(), routing(8, 3, "cuda", seed)
            expected = nf4.experts(torch.relu(x), ids, weights, up, down) + 1
            torch.compiler.cudagraph_mark_step_begin()
            self.assertTrue(torch.equal(compiled(x, ids, weights), expected))


if __name__ == "__main__":
    unittest.main()
